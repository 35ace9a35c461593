/* SPDX-License-Identifier: MIT */
/* debug_names.c: finds names in debug information and symbol tables. See debug_names.h. */
#include "sensor/debug_names.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

/* ---- units ---- */

bool units_next(struct units *units)
{
    uint8_t type;
    Dwarf_Die split;

    if (units->dwarf == NULL)
        units->dwarf = dwfl_module_getdwarf(units->module, &units->bias);
    while (units->dwarf != NULL && dwarf_get_units(units->dwarf, units->cursor, &units->cursor,
                                                   NULL, &type, &units->unit, &split) == 0) {
        if (type == DW_UT_skeleton) {
            if (split.addr == NULL)
                continue; /* its file is not there */
            units->unit = split;
            return true;
        }
        if (type == DW_UT_compile || type == DW_UT_type)
            return true;
    }
    return false;
}

const char *units_missing(Dwfl_Module *module)
{
    Dwarf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);
    Dwarf_CU *cursor = NULL;
    Dwarf_Die unit, split;
    Dwarf_Attribute attribute;
    uint8_t type;

    while (dwarf != NULL &&
           dwarf_get_units(dwarf, cursor, &cursor, NULL, &type, &unit, &split) == 0)
        if (type == DW_UT_skeleton && split.addr == NULL &&
            (dwarf_attr(&unit, DW_AT_dwo_name, &attribute) != NULL ||
             dwarf_attr(&unit, DW_AT_GNU_dwo_name, &attribute) != NULL))
            return dwarf_formstring(&attribute);
    return NULL;
}

bool units_of_address(Dwfl_Module *module, uint64_t address, Dwarf_Die *ret_unit,
                      Dwarf_Addr *ret_bias)
{
    struct units units = {.module = module};

    while (units_next(&units))
        if (dwarf_haspc(&units.unit, address - units.bias) > 0) {
            *ret_unit = units.unit;
            *ret_bias = units.bias;
            return true;
        }
    return false;
}

static int scopes_within(Dwarf_Die *parent, Dwarf_Addr address, unsigned depth,
                         Dwarf_Die **ret_scopes)
{
    Dwarf_Die child;
    int count = dwarf_getscopes(parent, address, ret_scopes);

    if (count > 1 || depth == LOOKUP_NAMESPACES || dwarf_child(parent, &child) != 0)
        return count;
    do {
        if (dwarf_tag(&child) != DW_TAG_namespace)
            continue;
        free(*ret_scopes);
        *ret_scopes = NULL;
        count = scopes_within(&child, address, depth + 1, ret_scopes);
        if (count > 1)
            return count;
    } while (dwarf_siblingof(&child, &child) == 0);
    return count;
}

int scopes_of_address(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **ret_scopes)
{
    return scopes_within(unit, address, 0, ret_scopes);
}

/* ---- all that stands at the top ---- */

struct visit {
    int (*found)(void *context, struct lookup *lookup);
    void *context;
    struct lookup lookup;
};

static int visit_children(struct visit *visit, Dwarf_Die *parent)
{
    Dwarf_Die child;
    int result = 0;

    if (dwarf_child(parent, &child) != 0)
        return 0;
    do {
        visit->lookup.die = child;
        result = visit->found(visit->context, &visit->lookup);
        if (result == 0 && dwarf_tag(&child) == DW_TAG_namespace &&
            visit->lookup.depth < LOOKUP_NAMESPACES) {
            visit->lookup.within[visit->lookup.depth++] = dwarf_diename(&child);
            result = visit_children(visit, &child);
            visit->lookup.depth--;
        }
    } while (result == 0 && dwarf_siblingof(&child, &child) == 0);
    return result;
}

static int visit_module(struct visit *visit, Dwfl_Module *module)
{
    struct units units = {.module = module};
    int result = 0;

    visit->lookup.module = module;
    while (result == 0 && units_next(&units)) {
        visit->lookup.bias = units.bias;
        visit->lookup.unit = units.unit;
        result = visit_children(visit, &visit->lookup.unit);
    }
    return result;
}

int lookup_each(struct sensor_program *program, Dwfl_Module *module,
                int (*found)(void *context, struct lookup *lookup), void *context)
{
    struct visit visit = {.found = found, .context = context};
    int result = 0;

    if (module != NULL)
        return visit_module(&visit, module);
    for (size_t i = 0; result == 0 && i < program->module_count; i++)
        result = visit_module(&visit, program->modules[i]);
    return result;
}

/* ---- functions ---- */

struct function_search {
    Dwarf_Addr address;
    Dwarf_Die die;
};

static int check_function(void *context, struct lookup *lookup)
{
    struct function_search *search = context;

    if (dwarf_tag(&lookup->die) != DW_TAG_subprogram ||
        dwarf_haspc(&lookup->die, search->address - lookup->bias) <= 0)
        return 0;
    search->die = lookup->die;
    return 1;
}

bool lookup_function_at(struct sensor_program *program, Dwfl_Module *module, uint64_t address,
                        Dwarf_Die *ret_function)
{
    struct function_search search = {.address = address};

    if (lookup_each(program, module, check_function, &search) == 0)
        return false;
    *ret_function = search.die;
    return true;
}

/* ---- variables ---- */

struct variable_search {
    bool nowhere; /* one was found that the compiler has removed */
    const char *name;
    Dwarf_Die *unit;
    struct lookup found;
    const char *linkage; /* of what was found; NULL: none */
    struct nearest *nearest;
    unsigned rank;  /* of what was found: 0: nothing, 1: static, 2: global, 3: of the unit */
    unsigned count; /* of that rank */
    char *others;
};

static void note_other(struct variable_search *search, Dwarf_Die *unit)
{
    const char *file = dwarf_diename(unit);
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    size_t used = strlen(search->others);

    if (file != NULL)
        snprintf(search->others + used, LOOKUP_OTHERS_SIZE - used, "%s%s", used > 0 ? ", " : "",
                 slash == NULL ? file : slash + 1);
}

/* Takes "app::" from the beginning of what is wanted. A namespace without a name may be left out. */
static bool take_scope(const char **wanted, const char *name)
{
    size_t size = name == NULL ? 0 : strlen(name);

    if (name == NULL)
        return true;
    if (strncmp(*wanted, name, size) != 0 || strncmp(*wanted + size, "::", 2) != 0)
        return false;
    *wanted += size + 2;
    return true;
}

/* Whether "app::inner::" is where it stands. */
static bool is_within(const struct lookup *lookup, const char *wanted)
{
    for (unsigned i = 0; i < lookup->depth; i++)
        if (!take_scope(&wanted, lookup->within[i]))
            return false;
    return strchr(wanted, ':') == NULL;
}

/* The same for one that is declared in a namespace or class, and defined at the top. */
static bool is_declared_within(Dwarf_Die *die, const char *wanted)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declared, *scopes = NULL;
    int count = dwarf_attr(die, DW_AT_specification, &attribute) != NULL &&
                        dwarf_formref_die(&attribute, &declared) != NULL
                    ? dwarf_getscopes_die(&declared, &scopes)
                    : 0;
    bool within = count > 2;

    for (int i = count - 2; i > 0 && within; i--) /* between the unit and itself */
        within = take_scope(&wanted, dwarf_diename(&scopes[i]));
    free(scopes);
    return within && strchr(wanted, ':') == NULL;
}

/* Whether the user means this variable. */
static bool is_variable(const struct lookup *lookup, const char *name, const char *wanted)
{
    const char *last = strrchr(wanted, ':');
    Dwarf_Die die = lookup->die;

    if (strcmp(name, wanted) == 0)
        return true;
    return last != NULL && strcmp(name, last + 1) == 0 &&
           (is_within(lookup, wanted) || is_declared_within(&die, wanted));
}

static const char *linkage_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    return dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == NULL
               ? NULL
               : dwarf_formstring(&attribute);
}

/* "x" may be app::x and other::x. */
static bool is_another(const struct variable_search *search, Dwarf_Die *die)
{
    const char *linkage = linkage_of(die);

    return strcmp(linkage == NULL ? "" : linkage, search->linkage == NULL ? "" : search->linkage) !=
           0;
}

static int check_variable(void *context, struct lookup *lookup)
{
    struct variable_search *search = context;
    Dwarf_Attribute attribute;
    bool external = false;

    if (dwarf_tag(&lookup->die) != DW_TAG_variable)
        return 0;
    const char *name = dwarf_diename(&lookup->die);
    if (name == NULL || dwarf_hasattr(&lookup->die, DW_AT_declaration))
        return 0;
    bool described = dwarf_attr_integrate(&lookup->die, DW_AT_location, &attribute) != NULL ||
                     dwarf_attr_integrate(&lookup->die, DW_AT_const_value, &attribute) != NULL;
    if (!is_variable(lookup, name, search->name)) {
        if (described)
            nearest_add(search->nearest, name);
        return 0;
    }
    if (!described) {
        search->nowhere = true;
        return 0;
    }
    if (dwarf_attr_integrate(&lookup->die, DW_AT_external, &attribute) != NULL)
        dwarf_formflag(&attribute, &external);
    bool own =
        search->unit != NULL && dwarf_dieoffset(search->unit) == dwarf_dieoffset(&lookup->unit);
    unsigned rank = own ? 3 : external ? 2 : 1;
    if (rank == search->rank && (rank == 1 || (rank == 2 && is_another(search, &lookup->die)))) {
        search->count++;
        note_other(search, &lookup->unit);
    }
    if (rank > search->rank) {
        search->rank = rank;
        search->count = 1;
        search->found = *lookup;
        search->linkage = linkage_of(&lookup->die);
        search->others[0] = '\0';
        note_other(search, &lookup->unit);
    }
    return rank == 3;
}

int lookup_variable(struct sensor_program *program, bool libraries, Dwarf_Die *unit,
                    const char *name, struct lookup *ret_lookup, struct nearest *nearest,
                    char others[LOOKUP_OTHERS_SIZE])
{
    size_t end = libraries ? program->module_count : 1;
    struct variable_search search = {
        .name = name, .unit = unit, .nearest = nearest, .others = others};

    others[0] = '\0';
    /* a global one comes before static ones of files of other libraries */
    for (size_t i = libraries ? 1 : 0; i < end && search.rank < 2; i++)
        lookup_each(program, program->modules[i], check_variable, &search);
    if (search.rank == 0)
        return search.nowhere ? -ENODATA : -ENOENT;
    if (search.count > 1)
        return -EEXIST;
    *ret_lookup = search.found;
    return 0;
}

/* ---- types and enumerators ---- */

struct type_search {
    const char *name;
    int tag; /* 0: a typedef, or any without tag */
    Dwarf_Die die;
};

static int check_type(void *context, struct lookup *lookup)
{
    struct type_search *search = context;
    int tag = dwarf_tag(&lookup->die);
    const char *name;

    if (tag == DW_TAG_class_type)
        tag = DW_TAG_structure_type;
    if (search->tag == 0
            ? tag != DW_TAG_typedef && tag != DW_TAG_base_type && tag != DW_TAG_structure_type
            : tag != search->tag)
        return 0;
    name = dwarf_diename(&lookup->die);
    if (name == NULL || strcmp(name, search->name) != 0 ||
        dwarf_hasattr(&lookup->die, DW_AT_declaration))
        return 0;
    search->die = lookup->die;
    return 1;
}

bool lookup_type(struct sensor_program *program, const char *name, Dwarf_Die *ret_die)
{
    static const struct {
        const char *word;
        int tag;
    } tags[] = {{"struct ", DW_TAG_structure_type},
                {"union ", DW_TAG_union_type},
                {"enum ", DW_TAG_enumeration_type}};
    struct type_search search = {.name = name};

    for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
        if (strncmp(name, tags[i].word, strlen(tags[i].word)) != 0)
            continue;
        search.tag = tags[i].tag;
        search.name = name + strlen(tags[i].word);
        search.name += strspn(search.name, " \t\n");
    }
    if (lookup_each(program, NULL, check_type, &search) == 0)
        return false;
    *ret_die = search.die;
    return true;
}

struct enumerator_search {
    const char *name;
    int64_t value;
};

static int check_enumerators(void *context, struct lookup *lookup)
{
    struct enumerator_search *search = context;
    Dwarf_Attribute attribute;
    Dwarf_Die child;
    Dwarf_Sword value;

    if (dwarf_tag(&lookup->die) != DW_TAG_enumeration_type ||
        dwarf_child(&lookup->die, &child) != 0)
        return 0;
    do {
        const char *name = dwarf_diename(&child);
        if (name == NULL || strcmp(name, search->name) != 0 ||
            dwarf_attr(&child, DW_AT_const_value, &attribute) == NULL ||
            dwarf_formsdata(&attribute, &value) != 0)
            continue;
        search->value = value;
        return 1;
    } while (dwarf_siblingof(&child, &child) == 0);
    return 0;
}

bool lookup_enumerator(struct sensor_program *program, const char *name, int64_t *ret_value)
{
    struct enumerator_search search = {.name = name};

    if (lookup_each(program, program->modules[0], check_enumerators, &search) == 0)
        return false;
    *ret_value = search.value;
    return true;
}

/* ---- symbols ---- */

/* "queue::push(int)" is "queue::push", and "queue::push::h0123456789abcdef" of Rust, too. */
static bool is_name_of(const char *demangled, const char *name)
{
    size_t size = strlen(name);

    if (strncmp(demangled, name, size) != 0)
        return false;
    return demangled[size] == '\0' || demangled[size] == '(' ||
           (strncmp(demangled + size, "::h", 3) == 0 &&
            strspn(demangled + size + 3, "0123456789abcdef") == 16 && demangled[size + 19] == '\0');
}

bool lookup_same_function(const char *symbol, const char *name)
{
    if (strcmp(symbol, name) == 0)
        return true;
    if (symbol[0] != '_')
        return false;
    char *demangled = cplus_demangle(symbol, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    if (demangled == NULL)
        return false;
    bool same = is_name_of(demangled, name);
    free(demangled);
    return same;
}

static bool is_kind(const GElf_Sym *symbol, bool function)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);

    if (symbol->st_shndx == SHN_UNDEF)
        return false;
    return function ? type == STT_FUNC : type == STT_OBJECT || type == STT_NOTYPE;
}

static void add_symbol(struct lookup_symbols *symbols, uint64_t address)
{
    for (size_t i = 0; i < symbols->count && i < LOOKUP_SYMBOLS_MOST; i++)
        if (symbols->addresses[i] == address)
            return;
    if (symbols->count < LOOKUP_SYMBOLS_MOST)
        symbols->addresses[symbols->count] = address;
    symbols->count++;
}

static void look_in_module(Dwfl_Module *module, const char *name, bool function,
                           struct lookup_symbols *symbols, struct nearest *nearest)
{
    int count = dwfl_module_getsymtab(module);
    bool has_global = false;

    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        const char *found = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
        if (found == NULL || !is_kind(&symbol, function))
            continue;
        if (function ? !lookup_same_function(found, name) : strcmp(found, name) != 0) {
            nearest_add(nearest, found);
            continue;
        }
        bool global = !function && GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
        if (global && !has_global)
            symbols->count = 0;
        if (global || !has_global)
            add_symbol(symbols, address);
        has_global = has_global || global;
    }
    symbols->module = module;
}

void lookup_symbols(struct sensor_program *program, const char *name, bool function,
                    struct lookup_symbols *ret_symbols, struct nearest *nearest)
{
    ret_symbols->count = 0;
    for (size_t i = 0; i < program->module_count && ret_symbols->count == 0; i++)
        look_in_module(program->modules[i], name, function, ret_symbols, nearest);
}

bool lookup_thread_local(struct sensor_program *program, const char *name)
{
    for (size_t i = 0; i < program->module_count; i++) {
        int count = dwfl_module_getsymtab(program->modules[i]);
        for (int k = 0; k < count; k++) {
            GElf_Sym symbol;
            GElf_Addr address;
            const char *found = dwfl_module_getsym_info(program->modules[i], k, &symbol, &address,
                                                        NULL, NULL, NULL);
            if (found != NULL && GELF_ST_TYPE(symbol.st_info) == STT_TLS &&
                strcmp(found, name) == 0)
                return true;
        }
    }
    return false;
}

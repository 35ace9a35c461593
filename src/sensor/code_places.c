/* SPDX-License-Identifier: MIT */
/*
 * code_places.c: places in the code of a running program.
 *
 *      "enqueue"       its entry, and that of each copy that the compiler has inlined
 *      "enqueue:return"   where it returns; copies have no such place
 *      "queue.c:123"   in each function (and inlined copy) that has code of this line: its first instruction
 */
#include "sensor/code_places.h"

#include "base/nearest.h"
#include "sensor/debug_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int places_add(struct places *places, const struct place *place)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->list[i].address == place->address)
            return 0;
    if (places->count == PLACES_MOST)
        return -ENOSPC;
    places->list[places->count++] = *place;
    return 0;
}

static int add_address(struct places *places, Dwfl_Module *module, uint64_t address, bool entry)
{
    struct place place = {.module = module, .address = address, .entry = entry};

    return program_file_offset(module, address, &place.offset) ? places_add(places, &place) : 0;
}

/* ---- functions ---- */

struct function_search {
    const char *name;
    struct places *places;
    struct nearest *nearest;
    struct lookup *lookup;
};

static int add_inlined(Dwarf_Die *instance, void *context)
{
    const struct function_search *search = context;
    Dwarf_Addr entry;

    if (dwarf_entrypc(instance, &entry) != 0)
        return DWARF_CB_OK;
    int result =
        add_address(search->places, search->lookup->module, entry + search->lookup->bias, false);
    return result < 0 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static bool is_function(Dwarf_Die *die, const char *name, struct nearest *nearest)
{
    Dwarf_Attribute attribute;
    const char *found = dwarf_diename(die);
    const char *linkage = NULL;

    if (found == NULL)
        return false;
    if (strcmp(found, name) == 0)
        return true;
    nearest_add(nearest, found);
    /* "queue::push" has its namespaces only in its linkage name */
    if (strchr(name, ':') != NULL &&
        (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
         dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL))
        linkage = dwarf_formstring(&attribute);
    return linkage != NULL && lookup_same_function(linkage, name);
}

static int check_function(void *context, struct lookup *lookup)
{
    struct function_search *search = context;
    Dwarf_Addr entry;
    int result = 0;

    if (dwarf_tag(&lookup->die) != DW_TAG_subprogram ||
        !is_function(&lookup->die, search->name, search->nearest))
        return 0;
    search->lookup = lookup;
    if (dwarf_func_inline(&lookup->die) != 0)
        result = dwarf_func_inline_instances(&lookup->die, add_inlined, search) > 0 ? -ENOSPC : 0;
    else if (dwarf_entrypc(&lookup->die, &entry) == 0)
        result = add_address(search->places, lookup->module, entry + lookup->bias, true);
    return result;
}

static int find_function(struct sensor_program *program, const char *name, struct places *places,
                         struct problem *problem)
{
    struct nearest nearest = {.typed = name, .length = strlen(name)};
    struct function_search search = {.name = name, .places = places, .nearest = &nearest};
    char text[NEAREST_TEXT_SIZE];
    struct lookup_symbols symbols = {.count = 0};
    int result = 0;

    /* the program's own before those of its libraries */
    for (size_t i = 0; result == 0 && i < program->module_count && places->count == 0; i++)
        result = lookup_each(program, program->modules[i], check_function, &search);
    if (result == 0 && places->count == 0)
        lookup_symbols(program, name, true, &symbols, &nearest);
    for (size_t i = 0; i < symbols.count && result == 0; i++)
        result = i == LOOKUP_SYMBOLS_MOST
                     ? -E2BIG
                     : add_address(places, symbols.module, symbols.addresses[i], true);
    if (result < 0)
        return problem_set(problem, result,
                           "function '%s' is inlined in more than %d places; give a line", name,
                           PLACES_MOST);
    if (places->count > 0)
        return 0;
    nearest_text(&nearest, "", text);
    return problem_set(problem, -ENOENT, "%s has no function '%s'%s", program->what, name, text);
}

static int find_returns(struct sensor_program *program, const char *name, struct places *places,
                        struct problem *problem)
{
    size_t kept = 0;

    if (program_is_go(
            program)) /* the kernel changes the return address, which Go looks for when it moves a stack */
        return problem_set(problem, -ENOTSUP,
                           "%s is a program of Go, which would crash where a function "
                           "returns to a sensor; give a line",
                           program->what);
    int result = find_function(program, name, places, problem);

    if (result < 0)
        return result;
    for (size_t i = 0; i < places->count; i++)
        if (places->list[i].entry) {
            places->list[kept] = places->list[i];
            places->list[kept].entry = false;
            places->list[kept++].is_return = true;
        }
    places->count = kept;
    return kept > 0 ? 0
                    : problem_set(problem, -ENOENT,
                                  "function '%s' is inlined wherever it is called, so it never "
                                  "returns; give a line",
                                  name);
}

/* ---- lines ---- */

struct line_search {
    struct sensor_program *program;
    Dwfl_Module *module;
    Dwarf_Addr bias;
    const char *file;
    int line;
    int after; /* the next line that has code; 0: none */
    bool seen; /* the file has code */
    struct places *places;
    Dwarf_Off owners[PLACES_MOST]; /* the function or inlined copy of each place */
};

static bool is_file(const char *path, const char *file)
{
    size_t length = strlen(path), wanted = strlen(file);

    return length >= wanted && strcmp(path + length - wanted, file) == 0 &&
           (length == wanted || path[length - wanted - 1] == '/');
}

/* The innermost function or inlined copy that has an address. *ret_entry: it begins there, and is no copy. */
static Dwarf_Off find_owner(Dwarf_Die *unit, Dwarf_Addr address, bool *ret_entry)
{
    Dwarf_Die *scopes = NULL;
    Dwarf_Off owner = 0;
    Dwarf_Addr entry;
    int count = scopes_of_address(unit, address, &scopes);

    *ret_entry = false;
    for (int i = 0; i < count && owner == 0; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
            continue;
        owner = dwarf_dieoffset(&scopes[i]);
        *ret_entry =
            tag == DW_TAG_subprogram && dwarf_entrypc(&scopes[i], &entry) == 0 && entry == address;
    }
    free(scopes);
    return owner;
}

static int add_line(struct line_search *search, Dwarf_Die *unit, Dwarf_Addr address)
{
    struct places *places = search->places;
    bool entry;
    Dwarf_Off owner = find_owner(unit, address, &entry);

    for (size_t i = 0; i < places->count; i++) {
        struct place *place = &places->list[i];
        if (search->owners[i] != owner || place->module != search->module)
            continue;
        if (address + search->bias < place->address &&
            program_file_offset(search->module, address + search->bias, &place->offset)) {
            place->address = address + search->bias;
            place->entry = entry;
        }
        return 0;
    }
    size_t before = places->count;
    int result = add_address(places, search->module, address + search->bias, entry);
    if (places->count > before)
        search->owners[before] = owner;
    return result;
}

static int search_unit(struct line_search *search, Dwarf_Die *unit)
{
    Dwarf_Lines *lines;
    size_t count;
    int result = 0;

    if (dwarf_getsrclines(unit, &lines, &count) != 0)
        return 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        bool begins = false, ends = true;
        int number;
        Dwarf_Addr address;
        const char *path = dwarf_linesrc(line, NULL, NULL);
        if (path == NULL || !is_file(path, search->file) || dwarf_lineno(line, &number) != 0 ||
            dwarf_linebeginstatement(line, &begins) != 0 || !begins ||
            dwarf_lineendsequence(line, &ends) != 0 || ends || dwarf_lineaddr(line, &address) != 0)
            continue;
        search->seen = true;
        if (number > search->line && (search->after == 0 || number < search->after))
            search->after = number;
        if (number == search->line)
            result = add_line(search, unit, address);
    }
    return result;
}

static int search_lines(struct line_search *search)
{
    struct units units = {.module = search->module};
    int result = 0;

    while (result == 0 && units_next(&units)) {
        search->bias = units.bias;
        result = search_unit(search, &units.unit);
    }
    return result;
}

static int find_line(struct sensor_program *program, const char *file, int line,
                     struct places *places, struct problem *problem)
{
    struct line_search search = {.program = program, .file = file, .line = line, .places = places};
    int result = 0;

    for (size_t i = 0; result == 0 && i < program->module_count && places->count == 0; i++) {
        search.module = program->modules[i];
        result = search_lines(&search);
    }
    if (result < 0)
        return problem_set(problem, result, "%s:%d has code in more than %d functions", file, line,
                           PLACES_MOST);
    if (places->count > 0)
        return 0;
    if (!search.seen)
        return problem_set(problem, -ENOENT, "%s: its debug information has no source file '%s'",
                           program->what, file);
    if (search.after == 0)
        return problem_set(problem, -ENOENT, "%s:%d has no code, and neither have later lines",
                           file, line);
    return problem_set(problem, -ENOENT, "%s:%d has no code; the next line that has is %d", file,
                       line, search.after);
}

/* ---- all ---- */

int places_find(struct sensor_program *program, const char *text, struct places *ret_places,
                struct problem *problem)
{
    const char *colon = strrchr(text, ':');
    struct nearest nearest = {0};
    char file[256], near_text[NEAREST_TEXT_SIZE];
    char *end;

    ret_places->count = 0;
    /* "list::push" is a function */
    if (colon == NULL || (colon > text && colon[-1] == ':'))
        return find_function(program, text, ret_places, problem);
    if (strcmp(colon + 1, "return") == 0 && (size_t)(colon - text) < sizeof(file)) {
        snprintf(file, sizeof(file), "%.*s", (int)(colon - text), text);
        return find_returns(program, file, ret_places, problem);
    }
    long line = strtol(colon + 1, &end, 10);
    if (*end == '\0' && end > colon + 1) {
        if (line < 1 || line > INT32_MAX || colon == text || (size_t)(colon - text) >= sizeof(file))
            return problem_set(problem, -EINVAL, "'%s' is no line of a file", text);
        snprintf(file, sizeof(file), "%.*s", (int)(colon - text), text);
        return find_line(program, file, (int)line, ret_places, problem);
    }
    nearest.typed = colon + 1;
    nearest.length = strlen(colon + 1);
    if (usdt_find(program, text, (size_t)(colon - text), colon + 1, ret_places, &nearest) < 0)
        return problem_set(problem, -ENOSPC, "probe '%s' is in more than %d places", text,
                           PLACES_MOST);
    if (ret_places->count > 0)
        return 0;
    nearest_text(&nearest, "", near_text);
    return problem_set(problem, -ENOENT, "%s has no USDT probe '%s'%s", program->what, text,
                       near_text);
}

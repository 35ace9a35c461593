/* SPDX-License-Identifier: MIT */
/* debug_names.h: finds names in debug information and symbol tables. Private to sensor/. */
#ifndef DPM_SENSOR_DEBUG_NAMES_H
#define DPM_SENSOR_DEBUG_NAMES_H

#include "base/nearest.h"
#include "sensor/program.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#define LOOKUP_NAMESPACES 8

/* A description in the debug information of a module. */
struct lookup {
    Dwfl_Module *module;
    Dwarf_Addr bias; /* added to its addresses */
    Dwarf_Die unit;  /* of compilation */
    Dwarf_Die die;
    const char *within
        [LOOKUP_NAMESPACES]; /* namespaces that it stands in, outermost first; NULL: one without a name */
    unsigned depth;
};

/* Each unit of a module, one after the other; one that is split, as it stands in its own file (.dwo). */
struct units {
    Dwfl_Module *module; /* the caller sets only this */
    Dwarf *dwarf;
    Dwarf_CU *cursor;
    Dwarf_Addr bias;
    Dwarf_Die unit;
};

bool units_next(struct units *units);

/* The file of a unit that is split and whose file is not there; NULL: there is none. */
const char *units_missing(Dwfl_Module *module);

/* The unit that has this address, whether the program lists addresses of its units or not (clang, rustc and Go do not). */
bool units_of_address(Dwfl_Module *module, uint64_t address, Dwarf_Die *ret_unit,
                      Dwarf_Addr *ret_bias);

/* As dwarf_getscopes, also in namespaces, where all functions of Rust are. */
int scopes_of_address(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **ret_scopes);

/* Calls `found` for each description at the top of a unit (also in namespaces), until it returns a value other than 0,
 * which is returned. `module` NULL: of all modules. */
int lookup_each(struct sensor_program *program, Dwfl_Module *module,
                int (*found)(void *context, struct lookup *lookup), void *context);

/* The function (not one that is inlined there) that has this address of the process. */
bool lookup_function_at(struct sensor_program *program, Dwfl_Module *module, uint64_t address,
                        Dwarf_Die *ret_function);

/* A global or static variable with a place in memory: of the program, or of its `libraries`, whose debug information
 * can take a second to read. `unit`: preferred, if not NULL. Returns 0, -ENOENT, -ENODATA: the compiler has removed it, or -EEXIST:
 * several files have one, which `others` lists. */
#define LOOKUP_OTHERS_SIZE 160
int lookup_variable(struct sensor_program *program, bool libraries, Dwarf_Die *unit,
                    const char *name, struct lookup *ret_lookup, struct nearest *nearest,
                    char others[LOOKUP_OTHERS_SIZE]);

/* "struct request", "request_t". */
bool lookup_type(struct sensor_program *program, const char *name, Dwarf_Die *ret_die);

/* A constant of an enum of the program. */
bool lookup_enumerator(struct sensor_program *program, const char *name, int64_t *ret_value);

/* Symbols with a name: of a variable that is not thread-local (a global one comes before static ones of files), or of
 * functions: of the first module that has one. */
#define LOOKUP_SYMBOLS_MOST 16
struct lookup_symbols {
    Dwfl_Module *module;
    uint64_t addresses[LOOKUP_SYMBOLS_MOST];
    size_t count; /* 0: none; more than LOOKUP_SYMBOLS_MOST: `addresses` has the first of them */
};
void lookup_symbols(struct sensor_program *program, const char *name, bool function,
                    struct lookup_symbols *ret_symbols, struct nearest *nearest);

/* Whether a thread-local variable has this symbol. */
bool lookup_thread_local(struct sensor_program *program, const char *name);

/* Whether a name of the program is the one that the user gave: also that of a C++ or Rust function without its
 * arguments and hash. */
bool lookup_same_function(const char *symbol, const char *name);

#endif

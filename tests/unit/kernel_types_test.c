/* SPDX-License-Identifier: MIT */
/* kernel_types_test.c: this kernel's types are those that libbpf finds. */
#include "meter/load/kernel_types.h"

#include <bpf/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct state {
    struct kernel_types *types;
    struct btf *libbpf;
};

static int set_up(void **state)
{
    static struct state both;

    both.libbpf = btf__load_vmlinux_btf();
    if (both.libbpf != NULL && kernel_types_read(&both.types) < 0)
        return -1;
    *state = &both;
    return 0;
}

static int tear_down(void **state)
{
    struct state *both = *state;

    btf__free(both->libbpf);
    kernel_types_free(both->types);
    return 0;
}

static void need_types(const struct state *both)
{
    if (both->libbpf == NULL) {
        print_message("this kernel has no BTF type information\n");
        skip();
    }
}

/* libbpf searches them one by one: some are enough. */
static void test_names_lead_to_types(void **state)
{
    static const uint32_t kinds[] = {BTF_KIND_TYPEDEF, BTF_KIND_FUNC, BTF_KIND_STRUCT};
    const struct state *both = *state;
    size_t tried = 0;

    need_types(both);
    for (uint32_t id = 1; id < btf__type_cnt(both->libbpf); id += 499) {
        const struct btf_type *type = btf__type_by_id(both->libbpf, id);
        const char *name = btf__name_by_offset(both->libbpf, type->name_off);
        for (size_t i = 0; *name != '\0' && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            int wanted = btf__find_by_name_kind(both->libbpf, name, kinds[i]);
            assert_int_equal(kernel_types_find(both->types, name, kinds[i]),
                             wanted < 0 ? 0 : wanted);
            tried++;
        }
    }
    assert_true(tried > 100);
    assert_int_equal(kernel_types_find(both->types, "no such name", BTF_KIND_FUNC), 0);
    assert_string_equal(kernel_types_name(both->types, UINT32_MAX), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_lead_to_types),
    };
    return cmocka_run_group_tests_name("kernel_types", tests, set_up, tear_down);
}

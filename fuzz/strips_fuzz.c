/* SPDX-License-Identifier: MIT */
/*
 * strips_fuzz.c: the input is what a monitor answers, line by line. Whatever it is, what displays get of it has a known form: rows
 * without control characters, and JSON.
 */
#include "fuzz.h"
#include "strips/strips.h"

#include <string.h>

static void check_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    PROMISE(length < size);
    for (size_t i = 0; i < length; i++)
        PROMISE((unsigned char)text[i] >= 32 && text[i] != 127);
}

static void check_rows(const struct strips *strips)
{
    struct strip_cells cells;
    char text[STRIPS_DETAILS_SIZE];

    for (size_t i = 0; strips_row(strips, i, &cells); i++) {
        PROMISE(i < 1300); /* 200 rows, and a line for each of 1000 views */
        check_text(cells.name, sizeof(cells.name));
        check_text(cells.state, sizeof(cells.state));
        check_text(cells.since, sizeof(cells.since));
        check_text(cells.times, sizeof(cells.times));
        check_text(cells.notified, sizeof(cells.notified));
        check_text(cells.values, sizeof(cells.values));
        check_text(cells.past, sizeof(cells.past));
        strips_details(strips, i, text);
        check_text(text, sizeof(text));
    }
    strips_warning(strips, text);
    check_text(text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct strips *strips = strips_new("input");

    while (size > 0) {
        const uint8_t *end = memchr(bytes, '\n', size);
        size_t length = end == NULL ? size : (size_t)(end - bytes);
        if (strips_take(strips, (const char *)bytes, length) >= 0)
            check_rows(strips);
        strips_tick(strips);
        size -= end == NULL ? size : length + 1;
        bytes += length + 1;
    }
    check_rows(strips);
    json_t *json = strips_json(strips);
    if (json != NULL) {
        char *text = json_dumps(json, 0);
        PROMISE(text != NULL);
        free(text);
    }
    json_decref(json);
    strips_free(strips);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "{\"id\":1,\"result\":{\"time\":5000000000,\"begin\":1,\"behind\":0,\"lost\":2,\"unread\":"
        "0,"
        "\"machines\":[{\"machine\":\"web1\",\"late\":true,\"until\":7,\"dropped\":0}],\"views\":[{"
        "\"view\":\"Long\",\"predicate\":\"Q.size > 1\",\"on\":true,\"rows\":[{\"row\":\"q "
        "7\",\"state\":"
        "\"active\",\"since\":1,\"times\":2,\"values\":{\"size\":17.5,\"who\":\"a\\u0007b\",\"x\":"
        "null}},{"
        "\"state\":\"unknown\",\"reason\":\"no Q\",\"since\":1,\"times\":0}],\"rows_left_out\":1,"
        "\"rows_quiet\":3,\"delay\":9,\"plan\":{\"instances\":[{\"instance\":\"Q\",\"how\":"
        "\"traced\"}],"
        "\"evaluated\":\"sensor\",\"window\":1.5,\"latency\":1,\"notice\":1,\"flush\":0,"
        "\"records\":1e9,"
        "\"messages\":1,\"per_record\":8500,\"per_notification\":1},\"correct\":25,\"correct_is\":"
        "\"doubtful\","
        "\"within\":9,\"receiver\":\"me\",\"notifications\":{\"queued\":1,\"sent\":1,\"late\":1,"
        "\"latest\":5,"
        "\"dropped\":1}}],\"changes\":[{\"number\":1,\"time\":4,\"view\":\"Long\",\"row\":\"q "
        "7\",\"change\":"
        "\"active\",\"notified\":true,\"values\":{\"size\":1}}],\"missed\":0,\"last\":1,\"more\":"
        "false}}";

    return fuzz_text(bytes, room, example);
}

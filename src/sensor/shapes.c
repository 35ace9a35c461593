/* SPDX-License-Identifier: MIT */
/*
 * shapes.c: from the debug information of a struct to a list of its parts, and from its bytes to text.
 *
 *      struct { int a; struct { char name[8]; short b[2]; } in; }
 *
 *      "{a: " 4 bytes at 0   ", in: {name: " text at 4   ", b: [" 2 at 12   ", " 2 at 14   "]}}"
 */
#include "sensor/shapes.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MOST    48
#define DEPTH_MOST    3 /* of structs in structs */
#define ELEMENTS_MOST 4 /* of an array */
#define BEFORE_MOST   160

struct part {
    const char *before;
    const struct type *type; /* of a number or a pointer; NULL: a text of `size` bytes */
    uint32_t offset, size;
    uint32_t bit_shift, bit_size;
};

struct shape {
    uint32_t size;
    size_t count;
    struct part parts[PARTS_MOST];
    const char *behind;
};

/* ---- the parts ---- */

struct making {
    struct sensor_program *program;
    struct shape *shape;
    char before[BEFORE_MOST]; /* since the last part */
    uint64_t offset;          /* of the struct whose members are looked at */
    unsigned depth;
    size_t members; /* of it, so far */
    bool full;      /* the rest is left out */
};

static void say(struct making *making, const char *text)
{
    size_t used = strlen(making->before);

    snprintf(making->before + used, sizeof(making->before) - used, "%s", text);
}

static const char *take_before(struct making *making)
{
    size_t size = strlen(making->before) + 1;
    char *copy = arena_allocate(&making->program->memory, size);

    if (copy != NULL)
        memcpy(copy, making->before, size);
    making->before[0] = '\0';
    return copy;
}

static void leave_out(struct making *making)
{
    if (!making->full)
        say(making, "...");
    making->full = true;
}

static int add_part(struct making *making, struct part part)
{
    if (making->full || making->shape->count == PARTS_MOST ||
        part.offset + (uint64_t)part.size > SENSOR_TEXT_BYTES) {
        leave_out(making);
        return 0;
    }
    if ((part.before = take_before(making)) == NULL)
        return -ENOMEM;
    making->shape->parts[making->shape->count++] = part;
    return 0;
}

static int add_value(struct making *making, const struct type_member *member);

static int add_elements(struct making *making, const struct type *type, uint64_t offset)
{
    const struct type *target = type_target(making->program, type);
    uint64_t count;
    int result = 0;

    if (target == NULL)
        return -ENOMEM;
    if (target->is_char && type->size > 0 && offset < SENSOR_TEXT_BYTES)
        return add_part(making, (struct part){.offset = (uint32_t)offset,
                                              .size = type->size > SENSOR_TEXT_BYTES - offset
                                                          ? SENSOR_TEXT_BYTES - (uint32_t)offset
                                                          : (uint32_t)type->size});
    count = target->size == 0 ? 0 : type->size / target->size;
    say(making, "[");
    for (uint64_t i = 0; i < count && i < ELEMENTS_MOST && !making->full && result == 0; i++) {
        say(making, i == 0 ? "" : ", ");
        result = add_value(
            making, &(struct type_member){.type = target, .offset = offset + i * target->size});
    }
    say(making, count > ELEMENTS_MOST && !making->full ? ", ...]" : "]");
    return result;
}

static int each_member(void *context, const char *name, const struct type_member *member)
{
    struct making *making = context;
    struct type_member at = *member;

    if (making->full)
        return 0;
    say(making, making->members++ == 0 ? "" : ", ");
    if (name != NULL) {
        say(making, name);
        say(making, ": ");
    }
    at.offset += making->offset;
    return add_value(making, &at);
}

static int add_struct(struct making *making, const struct type *type, uint64_t offset)
{
    const uint64_t outer = making->offset;
    const size_t members = making->members;

    if (making->depth == DEPTH_MOST) {
        say(making, "{...}");
        return 0;
    }
    say(making, "{");
    making->depth++;
    making->offset = offset;
    making->members = 0;
    int result = type_each_member(making->program, type, each_member, making);
    making->depth--;
    making->offset = outer;
    making->members = members;
    say(making, "}");
    return result;
}

static int add_value(struct making *making, const struct type_member *member)
{
    const struct type *type = member->type;
    uint64_t size = type == NULL ? 0 : type->size;

    if (member->offset > SENSOR_TEXT_BYTES) {
        leave_out(making);
        return 0;
    }
    if (type != NULL && type->kind == TYPE_STRUCT && size > 0)
        return add_struct(making, type, member->offset);
    if (type != NULL && type->kind == TYPE_ARRAY)
        return add_elements(making, type, member->offset);
    if (type == NULL || type->kind == TYPE_STRUCT || type->kind == TYPE_VOID ||
        (size != 1 && size != 2 && size != 4 && size != 8) ||
        member->bit_shift + member->bit_size > size * 8) {
        say(making, "?"); /* a variant of Rust, a number of 16 bytes, bits of a packed struct ... */
        return 0;
    }
    return add_part(making, (struct part){.type = type,
                                          .offset = (uint32_t)member->offset,
                                          .size = (uint32_t)size,
                                          .bit_shift = member->bit_shift,
                                          .bit_size = member->bit_size});
}

int shape_make(struct sensor_program *program, const struct type *type,
               const struct shape **ret_shape)
{
    struct shape *shape = arena_allocate(&program->memory, sizeof(*shape));
    struct making making = {.program = program, .shape = shape};

    if (shape == NULL)
        return -ENOMEM;
    *shape = (struct shape){.size = type->size > SENSOR_TEXT_BYTES ? SENSOR_TEXT_BYTES
                                                                   : (uint32_t)type->size};
    int result = add_struct(&making, type, 0);
    if (result == 0 && shape->count == 0)
        return -ENOENT;
    if (result == 0 && (shape->behind = take_before(&making)) == NULL)
        result = -ENOMEM;
    if (result == 0)
        *ret_shape = shape;
    return result;
}

uint32_t shape_size(const struct shape *shape)
{
    return shape->size;
}

/* ---- text ---- */

struct writing {
    char *text;
    size_t size, used; /* used: also what did not fit */
};

static void put(struct writing *writing, const char *text)
{
    size_t left = writing->used < writing->size ? writing->size - writing->used : 0;

    writing->used +=
        (size_t)snprintf(left > 0 ? writing->text + writing->used : NULL, left, "%s", text);
}

static void put_text(struct writing *writing, const char *bytes, size_t size)
{
    put(writing, "\"");
    for (size_t i = 0; i < size && bytes[i] != '\0'; i++) {
        unsigned char c = (unsigned char)bytes[i];
        char one[8];
        snprintf(one, sizeof(one),
                 c < ' ' || c >= 127     ? "\\x%02x"
                 : c == '"' || c == '\\' ? "\\%c"
                                         : "%c",
                 c);
        put(writing, one);
    }
    put(writing, "\"");
}

static void put_real(struct writing *writing, uint64_t bits, uint32_t size)
{
    uint32_t half = (uint32_t)bits;
    double real;
    float single;
    char text[32];

    memcpy(&single, &half, sizeof(single));
    memcpy(&real, &bits, sizeof(real));
    snprintf(text, sizeof(text), "%.*g", size == 4 ? 7 : 15, size == 4 ? (double)single : real);
    put(writing, text);
}

static void put_part(struct writing *writing, const struct part *part, const char *bytes)
{
    uint64_t bits = 0;
    char text[32];

    if (part->type == NULL) {
        put_text(writing, bytes + part->offset, part->size);
        return;
    }
    memcpy(&bits, bytes + part->offset, part->size);
    if (part->type->kind == TYPE_REAL) {
        put_real(writing, bits, part->size);
        return;
    }
    bits =
        sensor_extend(bits >> part->bit_shift, part->bit_size > 0 ? part->bit_size : part->size * 8,
                      part->type->is_signed);
    if (part->type->kind != TYPE_INTEGER)
        snprintf(text, sizeof(text), "0x%" PRIx64, bits);
    else if (part->type->is_signed)
        snprintf(text, sizeof(text), "%" PRId64, (int64_t)bits);
    else
        snprintf(text, sizeof(text), "%" PRIu64, bits);
    put(writing, text);
}

void shape_text(const struct shape *shape, const void *bytes, char *text, size_t size)
{
    struct writing writing = {.text = text, .size = size};

    text[0] = '\0';
    for (size_t i = 0; i < shape->count; i++) {
        put(&writing, shape->parts[i].before);
        put_part(&writing, &shape->parts[i], bytes);
    }
    put(&writing, shape->behind);
    if (writing.used >= size && size > 4)
        memcpy(text + size - 4, "...", 4);
}

/* SPDX-License-Identifier: MIT */
#include "fabric/fabric_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool fabric_name_valid(const char *name)
{
    size_t length = name == NULL ? 0 : strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return length > 0 && length <= FABRIC_NAME_MOST && name[length] == '\0';
}

void fabric_name_make(const char *text, char ret_name[FABRIC_NAME_MOST + 1])
{
    size_t length = 0;

    for (; *text != '\0' && length < FABRIC_NAME_MOST; text++) {
        char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        ret_name[length++] = is_name_char(c) ? c : '-';
    }
    if (length == 0)
        ret_name[length++] = '-';
    ret_name[length] = '\0';
}

/* ---- subjects ---- */

static const char *const part_names[FABRIC_PARTS] = {"metadata", "control", "data"};

const char *part_name(enum fabric_part part)
{
    return part_names[part];
}

/* If *text begins with `word` and a dot, or is `word`, moves behind it. */
static bool take_word(const char **text, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0)
        return false;
    if ((*text)[length] == '.')
        length++;
    else if ((*text)[length] != '\0')
        return false;
    *text += length;
    return true;
}

static bool take_name(const char **text, char ret_name[FABRIC_NAME_MOST + 1])
{
    size_t length = strcspn(*text, ".");

    if (length > FABRIC_NAME_MOST)
        return false;
    memcpy(ret_name, *text, length);
    ret_name[length] = '\0';
    *text += length + ((*text)[length] == '.');
    return fabric_name_valid(ret_name);
}

/* Decimal digits without a sign, at most `most`. */
static bool take_number(const char **text, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (!isdigit((unsigned char)**text))
        return false;
    for (; isdigit((unsigned char)**text); (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

static bool take_part(const char **text, enum fabric_part *ret_part)
{
    for (enum fabric_part part = 0; part < FABRIC_PARTS; part++) {
        size_t length = strlen(part_names[part]);
        if (strncmp(*text, part_names[part], length) == 0) {
            *text += length;
            *ret_part = part;
            return true;
        }
    }
    return false;
}

static bool take_output(const char **text, struct address *address)
{
    uint64_t pid;

    if (!take_number(text, INT32_MAX, &pid) || *(*text)++ != '.')
        return false;
    address->pid = (pid_t)pid;
    address->err = take_word(text, "err");
    return address->err || take_word(text, "out");
}

int address_parse(const char *subject, const char *session, struct address *ret_address)
{
    struct address address = {.kind = ADDRESS_PACKETS};
    bool good = take_word(&subject, "dpm") && take_word(&subject, session) &&
                take_name(&subject, address.machine);

    if (!good)
        return -EPROTO;
    if (take_word(&subject, "packets")) {
        good = take_name(&subject, address.recording) && take_part(&subject, &address.part);
    } else if (take_word(&subject, "output")) {
        address.kind = ADDRESS_OUTPUT;
        good = take_output(&subject, &address);
    } else if (take_word(&subject, "notice")) {
        address.kind = ADDRESS_NOTICE;
    } else {
        address.kind = ADDRESS_CONTROL;
        good = take_word(&subject, "control");
    }
    if (!good || *subject != '\0')
        return -EPROTO;
    *ret_address = address;
    return 0;
}

/* ---- places ---- */

int fabric_place_compare(const struct fabric_place *a, const struct fabric_place *b)
{
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void place_id_text(const struct fabric_place *place, enum fabric_part part,
                   char ret_text[PLACE_ID_SIZE])
{
    for (size_t i = 0; i < sizeof(place->uuid); i++)
        snprintf(ret_text + 2 * i, 3, "%02x", place->uuid[i]);
    size_t length = 2 * sizeof(place->uuid);
    snprintf(ret_text + length, PLACE_ID_SIZE - length, "-%" PRIu32 "-%s-%" PRIu64, place->file,
             part_name(part), place->number);
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c == '\0' ? NULL : strchr(digits, c);

    return found == NULL ? -1 : (int)(found - digits);
}

static bool take_uuid(const char **text, uint8_t uuid[16])
{
    for (size_t i = 0; i < 16; i++) {
        int high = hex_digit(**text);
        int low = high < 0 ? -1 : hex_digit((*text)[1]);
        if (low < 0)
            return false;
        uuid[i] = (uint8_t)(high << 4 | low);
        *text += 2;
    }
    return true;
}

int place_id_parse(const char *text, struct fabric_place *ret_place, enum fabric_part *ret_part)
{
    struct fabric_place place;
    enum fabric_part part;
    uint64_t file;

    if (!take_uuid(&text, place.uuid) || *text++ != '-' || !take_number(&text, UINT32_MAX, &file) ||
        *text++ != '-' || !take_part(&text, &part) || *text++ != '-' ||
        !take_number(&text, UINT64_MAX, &place.number) || *text != '\0')
        return -EPROTO;
    place.file = (uint32_t)file;
    *ret_place = place;
    *ret_part = part;
    return 0;
}

void place_text(const struct fabric_place *place, char ret_text[PLACE_ID_SIZE])
{
    if (place == NULL)
        strcpy(ret_text, "-");
    else
        snprintf(ret_text, PLACE_ID_SIZE, "%" PRIu32 "-%" PRIu64, place->file, place->number);
}

int place_parse(const char *text, struct fabric_place *ret_place)
{
    uint64_t file, number;

    if (strcmp(text, "-") == 0)
        return 0;
    if (!take_number(&text, UINT32_MAX, &file) || *text++ != '-' ||
        !take_number(&text, UINT64_MAX, &number) || *text != '\0')
        return -EPROTO;
    ret_place->file = (uint32_t)file;
    ret_place->number = number;
    return 1;
}

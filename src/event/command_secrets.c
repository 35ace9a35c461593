/* SPDX-License-Identifier: MIT */
/*
 * command_secrets.c: command lines without the secrets in them.
 *
 *      mysql -phunter2 -h db            mysql -p*** -h db
 *      client --password=hunter2 x      client --password=*** x
 *      env PGPASSWORD=hunter2 psql      env PGPASSWORD=*** psql
 *      get --token hunter2              get --token ***
 *      psql postgres://a:hunter2@db/    psql postgres://a:***@db/
 *
 * A command line is its arguments with blanks between them: an argument with blanks in it cannot be told from several, so only
 * the first word of such a secret is hidden.
 */
#include "event/event.h"

#include <string.h>
#include <strings.h>

#define HIDDEN "***"

/* A copy that grows. */
struct copy {
    char text[NAME_SIZE];
    size_t length;
};

static void append(struct copy *copy, const char *text, size_t length)
{
    size_t space = sizeof(copy->text) - 1 - copy->length;

    length = length < space ? length : space;
    memcpy(copy->text + copy->length, text, length);
    copy->length += length;
}

static bool contains(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i + size <= length; i++)
        if (strncasecmp(text + i, word, size) == 0)
            return true;
    return false;
}

/* "--password", "PGPASSWORD", "api_key": what follows is a secret. */
static bool names_secret(const char *name, size_t length)
{
    static const char *const words[] = {
        "password", "passwd", "passphrase", "secret",     "token", "credential", "api-key",
        "api_key",  "apikey", "access-key", "access_key", "_pwd",  "--pwd",      "authorization"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (contains(name, length, words[i]))
            return true;
    return (length == 3 && strncasecmp(name, "pwd", 3) == 0) ||
           (length == 4 && strncasecmp(name, "pass", 4) == 0) ||
           (length == 6 && strncasecmp(name, "--pass", 6) == 0);
}

static bool begins_with(const char *text, size_t length, const char *word)
{
    return length >= strlen(word) && strncmp(text, word, strlen(word)) == 0;
}

/* Programs with short options for secrets. */
enum habits { HABIT_P = 1, HABIT_A = 2, HABIT_U = 4, HABIT_W = 8 };

static unsigned habits_of(const char *word, size_t length)
{
    for (size_t i = length; i > 0; i--)
        if (word[i - 1] == '/') {
            word += i;
            length -= i;
            break;
        }
    if (begins_with(word, length, "mysql") || begins_with(word, length, "mariadb") ||
        begins_with(word, length, "sshpass"))
        return HABIT_P;
    if (begins_with(word, length, "redis-cli") || begins_with(word, length, "redis-benchmark"))
        return HABIT_A;
    if (begins_with(word, length, "curl") || begins_with(word, length, "smbclient"))
        return HABIT_U;
    return begins_with(word, length, "ldap") ? HABIT_W : 0;
}

/* Length of "-p", "-a" ... if the word begins with such an option of one of these programs; else 0. */
static size_t short_option(const char *word, size_t length, unsigned habits)
{
    static const char letters[] = "pauw";

    if (length < 2 || word[0] != '-')
        return 0;
    const char *letter = strchr(letters, word[1]);
    return letter != NULL && (habits >> (letter - letters) & 1) ? 2 : 0;
}

/* "user:password" or "user%password": the part that may be seen. */
static size_t user_length(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (word[i] == ':' || word[i] == '%')
            return i + 1;
    return length;
}

/* "scheme://user:password@host": where the password begins and ends. */
static bool find_in_address(const char *word, size_t length, size_t *ret_begin, size_t *ret_end)
{
    size_t begin = 0, end = length;

    for (size_t i = 2; i < length && begin == 0; i++)
        if (word[i] == '/' && word[i - 1] == '/' && word[i - 2] == ':')
            begin = i + 1;
    size_t host_end = begin; /* the path behind it may have any '@' */
    while (host_end < length && word[host_end] != '/')
        host_end++;
    end = host_end;
    while (begin > 0 && end > begin && word[end - 1] != '@')
        end--;
    for (size_t i = begin; begin > 0 && i + 1 < end; i++)
        if (word[i] == ':') {
            *ret_begin = i + 1;
            *ret_end = end - 1;
            return true;
        }
    return false;
}

/* What the word before says of the next one. */
enum expecting { EXPECT_NOTHING, EXPECT_SECRET, EXPECT_USER };

static void hide(struct copy *copy, const char *word, size_t shown)
{
    append(copy, word, shown);
    append(copy, HIDDEN, strlen(HIDDEN));
}

static enum expecting copy_word(struct copy *copy, const char *word, size_t length, unsigned habits)
{
    const char *equals = memchr(word, '=', length);
    size_t option = short_option(word, length, habits), begin, end;

    if (equals != NULL && names_secret(word, (size_t)(equals - word))) {
        hide(copy, word, (size_t)(equals - word) + 1);
        return EXPECT_NOTHING;
    }
    if (option != 0 && word[1] == 'u' && length > 2) {
        size_t shown = option + user_length(word + option, length - option);
        append(copy, word, shown);
        append(copy, HIDDEN, shown < length ? strlen(HIDDEN) : 0);
        return EXPECT_NOTHING;
    }
    if (option != 0 && length > 2) {
        hide(copy, word, option);
        return EXPECT_NOTHING;
    }
    if (find_in_address(word, length, &begin, &end)) {
        hide(copy, word, begin);
        append(copy, word + end, length - end);
        return EXPECT_NOTHING;
    }
    append(copy, word, length);
    if (option != 0)
        return word[1] == 'u' ? EXPECT_USER : EXPECT_SECRET;
    bool is_bearer = (length == 6 && strncasecmp(word, "bearer", 6) == 0) ||
                     (length > 1 && word[length - 1] == ':' && names_secret(word, length));
    return is_bearer || (word[0] == '-' && equals == NULL && names_secret(word, length))
               ? EXPECT_SECRET
               : EXPECT_NOTHING;
}

void command_hide_secrets(char command[NAME_SIZE])
{
    struct copy copy = {.length = 0};
    enum expecting expecting = EXPECT_NOTHING;
    unsigned habits = 0;

    for (const char *at = command; *at != '\0';) {
        size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " ");
        append(&copy, at, blanks);
        at += blanks;
        if (length == 0)
            break;
        habits |= habits_of(at, length);
        bool is_bearer = length == 6 && strncasecmp(at, "bearer", 6) == 0;
        if (expecting == EXPECT_SECRET && at[0] != '-' && !is_bearer) {
            hide(&copy, at, 0);
            expecting = EXPECT_NOTHING;
        } else if (expecting == EXPECT_USER && user_length(at, length) < length) {
            hide(&copy, at, user_length(at, length));
            expecting = EXPECT_NOTHING;
        } else {
            expecting = copy_word(&copy, at, length, habits);
        }
        at += length;
    }
    memset(command, 0, NAME_SIZE);
    memcpy(command, copy.text, copy.length);
}

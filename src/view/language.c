/* SPDX-License-Identifier: MIT */
/* language.c: the parser of attributes and views: a function for each rule of the grammar. See view.h. */
#include "expression/expression.h"
#include "view/builtin.h"
#include "view/tokens.h"
#include "view/view_expressions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool view_same_name(const char *one, const char *other)
{
    return strcasecmp(one, other) == 0;
}

int parser_no_memory(struct view_parser *parser)
{
    return problem_set(parser->problem, -ENOMEM, "%s: out of memory", parser->tokens.name);
}

int parser_expect(struct view_parser *parser, const char *word)
{
    char quoted[32];

    if (!token_is(&parser->tokens.token, word)) {
        snprintf(quoted, sizeof(quoted), strlen(word) > 1 ? "%s" : "'%s'", word);
        return token_unexpected(&parser->tokens, &parser->tokens.token, quoted, parser->problem);
    }
    tokens_next(&parser->tokens);
    return 0;
}

static int expect_all(struct view_parser *parser, const char *const *words)
{
    int result = 0;

    for (; *words != NULL && result == 0; words++)
        result = parser_expect(parser, *words);
    return result;
}

const char *parser_keep(struct view_parser *parser, const char *start, size_t size)
{
    char *copy = arena_allocate(&parser->file->memory, size + 1);

    if (copy != NULL) {
        memcpy(copy, start, size);
        copy[size] = '\0';
    }
    return copy;
}

int parser_name(struct view_parser *parser, const char *expected, const char **ret_name)
{
    const struct token *token = &parser->tokens.token;

    if (token->kind != TOKEN_NAME)
        return token_unexpected(&parser->tokens, token, expected, parser->problem);
    if (token->size > parser->name_most)
        return token_problem(&parser->tokens, token->line, token->column, parser->problem,
                             "a name has at most %zu characters", parser->name_most);
    *ret_name = parser_keep(parser, token->start, token->size);
    if (*ret_name == NULL)
        return parser_no_memory(parser);
    tokens_next(&parser->tokens);
    return 0;
}

void *parser_grow(struct view_parser *parser, const void *list, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0) /* there is still room up to the next power of two */
        return (void *)list;
    char *grown = arena_allocate(&parser->file->memory, (count == 0 ? 1 : count * 2) * size);
    if (grown != NULL && count > 0)
        memcpy(grown, list, count * size);
    return grown;
}

int parser_number(struct view_parser *parser, const char *expected, double most, double *ret_number)
{
    const struct token *token = &parser->tokens.token;
    char digits[64];

    if (token->kind != TOKEN_NUMBER || token->size >= sizeof(digits))
        return token_unexpected(&parser->tokens, token, expected, parser->problem);
    memcpy(digits, token->start, token->size);
    digits[token->size] = '\0';
    double number = strtod(digits, NULL);
    if (!(number <= most))
        return token_unexpected(&parser->tokens, token, expected, parser->problem);
    *ret_number = number;
    tokens_next(&parser->tokens);
    return 0;
}

/* ---- attributes ---- */

struct variables {
    struct view_parser *parser;
    struct view_attribute *attribute;
};

static int add_variable(void *context, const char *name)
{
    const struct variables *variables = context;
    struct view_attribute *attribute = variables->attribute;

    for (size_t i = 0; i < attribute->variable_count; i++)
        if (strcmp(attribute->variables[i], name) == 0)
            return 0;
    const char **grown = parser_grow(variables->parser, (const void *)attribute->variables,
                                     attribute->variable_count, sizeof(*attribute->variables));
    const char *copy = parser_keep(variables->parser, name, strlen(name));
    if (grown == NULL || copy == NULL)
        return parser_no_memory(variables->parser);
    grown[attribute->variable_count++] = copy;
    attribute->variables = grown;
    return 0;
}

/* The body on one line, without blanks around it. */
static const char *plain_body(struct view_parser *parser, const struct token *body)
{
    size_t size = body->size;

    while (size > 0 && strchr(" \t\r\n", body->start[size - 1]) != NULL)
        size--;
    char *text = (char *)parser_keep(parser, body->start, size);
    for (char *at = text; at != NULL && *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    return text;
}

/* Says where in the body, which may have several lines. */
static int body_problem(struct view_parser *parser, const struct token *body,
                        const struct c_fault *fault)
{
    struct token token = {.kind = TOKEN_WRONG,
                          .start = body->start + fault->at,
                          .size = fault->size,
                          .line = body->line,
                          .column = body->column};

    for (size_t i = 0; i < fault->at && i < body->size; i++) {
        token.column = body->start[i] == '\n' ? 1 : token.column + 1;
        token.line += body->start[i] == '\n';
    }
    if (fault->size == 0) { /* the body ends too early: at ';', or with the file */
        token.kind = token.start < parser->tokens.end ? TOKEN_WRONG : TOKEN_END;
        token.size = 1;
    }
    return token_unexpected(&parser->tokens, &token, fault->expected, parser->problem);
}

static int read_attribute(struct view_parser *parser, struct view_attribute *attribute)
{
    struct variables variables = {parser, attribute};
    struct c_expression *expression = NULL;
    struct arena memory = {0};
    struct c_fault fault;

    *attribute = (struct view_attribute){0};
    int result = parser_name(parser, "the name of an attribute, or END", &attribute->name);
    if (result < 0 || (result = parser_expect(parser, ":")) < 0)
        return result;
    const struct token body = tokens_body(&parser->tokens);
    attribute->line = body.line;
    attribute->column = body.column;
    result = c_expression_parse(body.start, body.size, &memory, &expression, &fault);
    if (result == 0)
        result = c_expression_each_name(expression, add_variable, &variables);
    arena_done(&memory);
    if (result == -EINVAL)
        return body_problem(parser, &body, &fault);
    attribute->body = plain_body(parser, &body);
    if (result == -ENOMEM || attribute->body == NULL)
        result = parser_no_memory(parser);
    return result < 0 ? result : parser_expect(parser, ";");
}

static int add_attribute(struct view_parser *parser, struct view_object *object)
{
    const struct token token = parser->tokens.token;
    struct view_attribute *grown = parser_grow(parser, object->attributes, object->attribute_count,
                                               sizeof(*object->attributes));

    if (grown == NULL)
        return parser_no_memory(parser);
    object->attributes = grown;
    int result = read_attribute(parser, &grown[object->attribute_count]);
    if (result < 0)
        return result;
    for (size_t i = 0; i < object->attribute_count; i++)
        if (view_same_name(grown[i].name, grown[object->attribute_count].name))
            return token_problem(&parser->tokens, token.line, token.column, parser->problem,
                                 "attribute %s of %s is defined twice", grown[i].name,
                                 object->name);
    object->attribute_count++;
    return object->attribute_count < VIEW_LIST_MOST
               ? 0
               : token_problem(&parser->tokens, token.line, token.column, parser->problem,
                               "an object has at most %d attributes", VIEW_LIST_MOST);
}

/* Whether this is AT "place", not an attribute called AT. */
static bool begins_places(const struct view_parser *parser)
{
    struct tokens ahead = parser->tokens;

    if (!token_is(&ahead.token, "AT"))
        return false;
    tokens_next(&ahead);
    return ahead.token.kind == TOKEN_TEXT;
}

static int read_places(struct view_parser *parser, struct view_object *object)
{
    static const char expected[] = "a place in the program in double quotes: \"FUNCTION\", "
                                   "\"FILE:LINE\" or \"PROVIDER:PROBE\"";

    do {
        tokens_next(&parser->tokens);
        const struct token token = parser->tokens.token;
        if (token.kind != TOKEN_TEXT || token.size == 0 || token.size > VIEW_PLACE_MOST)
            return token_unexpected(&parser->tokens, &token, expected, parser->problem);
        if (object->place_count >= VIEW_PLACES_MOST)
            return token_problem(&parser->tokens, token.line, token.column, parser->problem,
                                 "an object has at most %d places", VIEW_PLACES_MOST);
        struct view_program_place *grown =
            parser_grow(parser, object->places, object->place_count, sizeof(*object->places));
        const char *text = parser_keep(parser, token.start, token.size);
        if (grown == NULL || text == NULL)
            return parser_no_memory(parser);
        object->places = grown;
        grown[object->place_count++] = (struct view_program_place){text, token.line, token.column};
        tokens_next(&parser->tokens);
    } while (token_is(&parser->tokens.token, ","));
    return parser_expect(parser, ";");
}

static int read_object(struct view_parser *parser)
{
    static const char *const head[] = {"ATTRIBUTE", "DEFINITION", "FOR", "OBJECT", NULL};
    static const char *const foot[] = {"END", "ATTRIBUTE", "DEF", NULL};
    struct view_file *file = parser->file;
    struct view_object *grown =
        parser_grow(parser, file->objects, file->object_count, sizeof(*file->objects));
    const struct token token = parser->tokens.token;

    if (grown == NULL)
        return parser_no_memory(parser);
    file->objects = grown;
    struct view_object *object = &grown[file->object_count];
    *object = (struct view_object){0};
    int result = expect_all(parser, head);
    if (result == 0)
        result = parser_name(parser, "the name of an object", &object->name);
    for (size_t i = 0; i < file->object_count && result == 0; i++)
        if (view_same_name(grown[i].name, object->name))
            result = token_problem(&parser->tokens, token.line, token.column, parser->problem,
                                   "object %s is defined twice", object->name);
    while (result == 0 && !token_is(&parser->tokens.token, "END"))
        result =
            begins_places(parser) ? read_places(parser, object) : add_attribute(parser, object);
    if (result == 0)
        result = expect_all(parser, foot);
    file->object_count++;
    return result;
}

/* ---- views ---- */

/* "25 MS", "1 S": ns. */
int parser_time(struct view_parser *parser, uint64_t *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"US", 1e3}, {"USEC", 1e3}, {"MS", 1e6}, {"MSEC", 1e6}, {"S", 1e9}, {"SEC", 1e9}};
    double number = 0;
    int result = parser_number(parser, "a time: a number up to 1000000 and a unit", 1e6, &number);

    if (result < 0)
        return result;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (token_is(&parser->tokens.token, units[i].name)) {
            tokens_next(&parser->tokens);
            *ret_ns = (uint64_t)(number * units[i].ns);
            return 0;
        }
    return token_unexpected(&parser->tokens, &parser->tokens.token,
                            "a unit of time: US, MS, MSEC, S or SEC", parser->problem);
}

static int read_target(struct view_parser *parser, struct view *view)
{
    struct view_target *grown =
        parser_grow(parser, view->targets, view->target_count, sizeof(*view->targets));
    const struct token token = parser->tokens.token;

    if (grown == NULL)
        return parser_no_memory(parser);
    view->targets = grown;
    struct view_target *target = &grown[view->target_count];
    *target = (struct view_target){0};
    int result = parser_name(parser, "the name of a value", &target->name);
    for (size_t i = 0; i < view->target_count && result == 0; i++)
        if (view_same_name(grown[i].name, target->name))
            result = token_problem(&parser->tokens, token.line, token.column, parser->problem,
                                   "%s has two values with the name %s", view->name, target->name);
    if (result == 0)
        result = parser_expect(parser, ":");
    if (result == 0)
        result = parser_value(parser, view, &target->expression);
    if (result < 0)
        return result;
    return ++view->target_count < VIEW_REFERENCES_MOST
               ? 0
               : token_problem(&parser->tokens, token.line, token.column, parser->problem,
                               "a view has fewer than %d values", VIEW_REFERENCES_MOST);
}

static int read_targets(struct view_parser *parser, struct view *view)
{
    int result = parser_expect(parser, "(");

    if (result == 0)
        result = read_target(parser, view);
    while (result == 0 && token_is(&parser->tokens.token, ",")) {
        tokens_next(&parser->tokens);
        result = read_target(parser, view);
    }
    if (result == 0 && !token_is(&parser->tokens.token, ")"))
        return token_unexpected(&parser->tokens, &parser->tokens.token, "an operator, ',' or ')'",
                                parser->problem);
    return result < 0 ? result : parser_expect(parser, ")");
}

static int read_correct(struct view_parser *parser, struct view *view)
{
    static const char *const head[] = {"CORRECT", "TO", "WITHIN", NULL};
    int result = expect_all(parser, head);

    if (result == 0)
        result = parser_time(parser, &view->correct);
    view->has_correct = true;
    return result < 0 ? result : parser_expect(parser, ";");
}

static int read_clauses(struct view_parser *parser, struct view *view)
{
    static const char *const head[] = {"ACTIVE", "WHEN", NULL};
    int result = expect_all(parser, head);

    if (result == 0)
        result = parser_predicate(parser, view, &view->predicate);
    if (result == 0 && !token_is(&parser->tokens.token, ";"))
        return token_unexpected(&parser->tokens, &parser->tokens.token,
                                "an operator, AND, OR or ';'", parser->problem);
    if (result == 0)
        result = parser_expect(parser, ";");
    if (result == 0 && token_is(&parser->tokens.token, "CORRECT"))
        result = read_correct(parser, view);
    if (result == 0 && token_is(&parser->tokens.token, "NOTIFY"))
        return parser_notify(parser, view);
    return result;
}

/* What can still follow, for errors. */
static int read_end(struct view_parser *parser, const struct view *view)
{
    static const char *const foot[] = {"END", "VIEW", "DEF", NULL};

    if (!token_is(&parser->tokens.token, "END"))
        return token_unexpected(&parser->tokens, &parser->tokens.token,
                                view->notifies      ? "END VIEW DEF"
                                : view->has_correct ? "NOTIFY or END VIEW DEF"
                                                    : "CORRECT, NOTIFY or END VIEW DEF",
                                parser->problem);
    return expect_all(parser, foot);
}

static int read_view(struct view_parser *parser)
{
    static const char *const head[] = {"VIEW", "DEF", NULL};
    struct view_file *file = parser->file;
    struct view *grown = parser_grow(parser, file->views, file->view_count, sizeof(*file->views));

    if (grown == NULL)
        return parser_no_memory(parser);
    file->views = grown;
    struct view *view = &grown[file->view_count];
    *view = (struct view){.line = parser->tokens.token.line, .column = parser->tokens.token.column};
    int result = expect_all(parser, head);
    if (result == 0)
        result = parser_name(parser, "the name of a view", &view->name);
    for (size_t i = 0; i < file->view_count && result == 0; i++)
        if (view_same_name(grown[i].name, view->name))
            result = token_problem(&parser->tokens, view->line, view->column, parser->problem,
                                   "view %s is defined twice", view->name);
    if (result == 0)
        result = read_targets(parser, view);
    if (result == 0)
        result = read_clauses(parser, view);
    file->view_count++;
    return result < 0 ? result : read_end(parser, view);
}

static int read_file(struct view_parser *parser)
{
    int result = 0;

    while (result == 0 && parser->tokens.token.kind != TOKEN_END) {
        const struct token *token = &parser->tokens.token;
        if (parser->file->object_count + parser->file->view_count >= VIEW_LIST_MOST)
            return token_problem(&parser->tokens, token->line, token->column, parser->problem,
                                 "a file has at most %d definitions", VIEW_LIST_MOST);
        if (token_is(token, "ATTRIBUTE"))
            result = read_object(parser);
        else if (token_is(token, "VIEW"))
            result = read_view(parser);
        else
            return token_unexpected(&parser->tokens, token,
                                    "ATTRIBUTE DEFINITION FOR OBJECT or VIEW DEF", parser->problem);
    }
    return result;
}

/* Figures of DPM's own objects that are compared with constants of another kind. */
static int check_kinds(const char *name, const struct view_file *file, struct problem *problem)
{
    for (size_t i = 0; i < file->view_count; i++)
        for (uint32_t k = 0; k < file->views[i].reference_count; k++) {
            const struct view *view = &file->views[i];
            const struct view_reference *reference = &view->references[k];
            const struct view_entity *entity = &view->entities[reference->entity];
            bool is_text = view_builtin_is_text(entity->builtin, reference->attribute);
            if (entity->builtin == VIEW_PROGRAM)
                continue;
            const struct view_expression *other =
                view_mismatch(view, k, is_text ? VIEW_IS_TEXT : VIEW_IS_NUMBER);
            if (other != NULL)
                return problem_set(problem, -EINVAL,
                                   "%s:%u:%u: %s.%s is a %s: it cannot be compared with a %s", name,
                                   other->line, other->column, entity->object, reference->attribute,
                                   is_text ? "text" : "number", is_text ? "number" : "text");
        }
    return 0;
}

int view_parse(const char *name, const char *text, size_t size, struct view_file **ret_file,
               struct problem *problem)
{
    struct view_parser parser = {
        .file = calloc(1, sizeof(*parser.file)), .problem = problem, .name_most = VIEW_NAME_MOST};

    if (parser.file == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", name);
    tokens_begin(&parser.tokens, name, text, size);
    int result = size <= VIEW_FILE_MOST ? read_file(&parser)
                                        : problem_set(problem, -EINVAL, "%s: larger than %u bytes",
                                                      name, VIEW_FILE_MOST);
    if (result < 0) {
        view_file_free(parser.file);
        return result;
    }
    view_find_builtins(parser.file);
    result = check_kinds(name, parser.file, problem);
    if (result < 0)
        view_file_free(parser.file);
    else
        *ret_file = parser.file;
    return result;
}

void view_file_free(struct view_file *file)
{
    if (file == NULL)
        return;
    arena_done(&file->memory);
    free(file->text);
    free(file);
}

/* Reads all of a file, of at most VIEW_FILE_MOST bytes and one more. */
static int read_text(int descriptor, char *text, size_t *ret_size)
{
    size_t size = 0;

    while (size <= VIEW_FILE_MOST) {
        ssize_t got = read(descriptor, text + size, VIEW_FILE_MOST + 1 - size);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    *ret_size = size;
    return 0;
}

int view_read(const char *name, struct view_file **ret_file, struct problem *problem)
{
    size_t size = 0;
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return problem_set(problem, -errno, "%s: %s", name, strerror(errno));
    char *text = malloc(VIEW_FILE_MOST + 2);
    int result = text == NULL ? -ENOMEM : read_text(descriptor, text, &size);
    close(descriptor);
    if (result < 0)
        problem_set(problem, result, "%s: %s", name, strerror(-result));
    else
        result = view_parse(name, text, size, ret_file, problem);
    if (result < 0) {
        free(text);
        return result;
    }
    text[size] = '\0';
    (*ret_file)->text = text;
    return 0;
}

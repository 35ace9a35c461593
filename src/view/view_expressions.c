/* SPDX-License-Identifier: MIT */
/*
 * view_expressions.c: predicates and values. One grammar reads both, because '(' may begin either; what an expression
 * is shows in its kind.
 *
 *      either = all { "OR" all }            all = compared { "AND" compared }
 *      compared = sum [ ("=" ...) sum ]     sum = product { ("+"|"-") product }
 *      product = factor { ("*"|"/") factor }
 *      factor = "-" factor | number | "text" | reference | "(" either ")"
 */
#include "view/view_expressions.h"

#include <errno.h>
#include <string.h>

static bool is_predicate(const struct view_expression *expression)
{
    return expression->kind >= VIEW_EQUAL;
}

static int read_either(struct view_parser *parser, struct view *view,
                       struct view_expression **ret_expression);

static struct view_expression *new_expression(struct view_parser *parser, enum view_kind kind,
                                              const struct token *token)
{
    if (++parser->expressions > VIEW_EXPRESSIONS_MOST) {
        token_problem(&parser->tokens, token->line, token->column, parser->problem,
                      "an expression has at most %d parts", VIEW_EXPRESSIONS_MOST);
        return NULL;
    }
    struct view_expression *expression = arena_allocate(&parser->file->memory, sizeof(*expression));
    if (expression == NULL) {
        parser_no_memory(parser);
        return NULL;
    }
    *expression =
        (struct view_expression){.kind = kind, .line = token->line, .column = token->column};
    return expression;
}

static int check_kind(struct view_parser *parser, const struct view_expression *expression,
                      bool predicate)
{
    if (is_predicate(expression) == predicate)
        return 0;
    return token_problem(&parser->tokens, expression->line, expression->column, parser->problem,
                         predicate
                             ? "this is a value, expected a comparison (=, <>, >, >=, < or <=)"
                             : "this is a comparison, expected a value");
}

/* ---- references ---- */

static int read_index(struct view_parser *parser, struct view_entity *entity)
{
    static const char expected[] = "a number, a name in double quotes, or *";
    struct tokens *tokens = &parser->tokens;
    const struct token token = tokens->token;

    if (token_is(&token, "*")) {
        entity->index = VIEW_EACH;
        tokens_next(tokens);
        return 0;
    }
    if (token.kind == TOKEN_NUMBER) {
        double number = 0;
        int result = parser_number(parser, expected, UINT32_MAX, &number);
        entity->index = VIEW_NUMBER_INDEX;
        entity->number = (uint32_t)number;
        return result < 0 || number == entity->number
                   ? result
                   : token_unexpected(tokens, &token, "a whole number", parser->problem);
    }
    if (token.kind != TOKEN_TEXT || token.size > VIEW_NAME_MOST)
        return token_unexpected(tokens, &token, expected, parser->problem);
    entity->index = VIEW_NAME;
    entity->name = parser_keep(parser, token.start, token.size);
    tokens_next(tokens);
    if (token_is(&tokens->token, ",")) {
        tokens_next(tokens);
        if (tokens->token.kind != TOKEN_TEXT || tokens->token.size > VIEW_NAME_MOST)
            return token_unexpected(tokens, &tokens->token, "a name in double quotes",
                                    parser->problem);
        entity->other = parser_keep(parser, tokens->token.start, tokens->token.size);
        if (entity->other == NULL)
            return parser_no_memory(parser);
        tokens_next(tokens);
    }
    return entity->name == NULL ? parser_no_memory(parser) : 0;
}

static bool same_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : view_same_name(one, other);
}

static bool same_entity(const struct view_entity *one, const struct view_entity *other)
{
    return one->index == other->index && one->number == other->number &&
           view_same_name(one->object, other->object) && same_text(one->name, other->name) &&
           same_text(one->other, other->other);
}

/* The place of the entity in the view's list; negative: an error. */
static int64_t add_entity(struct view_parser *parser, struct view *view,
                          const struct view_entity *entity, const struct token *token)
{
    for (size_t i = 0; i < view->entity_count; i++) {
        if (same_entity(&view->entities[i], entity))
            return (int64_t)i;
        if (view->entities[i].index == VIEW_EACH && entity->index == VIEW_EACH)
            return token_problem(
                &parser->tokens, token->line, token->column, parser->problem,
                "%s[*] and %s[*] in one view: only one of its objects may have [*]",
                view->entities[i].object, entity->object);
    }
    if (view->entity_count >= VIEW_ENTITIES_MOST)
        return token_problem(&parser->tokens, token->line, token->column, parser->problem,
                             "a view speaks of at most %d instances", VIEW_ENTITIES_MOST);
    struct view_entity *grown =
        parser_grow(parser, view->entities, view->entity_count, sizeof(*view->entities));
    if (grown == NULL)
        return parser_no_memory(parser);
    view->entities = grown;
    grown[view->entity_count] = *entity;
    return (int64_t)view->entity_count++;
}

static int64_t add_reference(struct view_parser *parser, struct view *view,
                             const struct view_reference *reference)
{
    for (size_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == reference->entity &&
            view_same_name(view->references[i].attribute, reference->attribute))
            return (int64_t)i;
    if (view->reference_count >= VIEW_REFERENCES_MOST)
        return token_problem(&parser->tokens, reference->line, reference->column, parser->problem,
                             "a view has at most %d attributes", VIEW_REFERENCES_MOST);
    struct view_reference *grown =
        parser_grow(parser, view->references, view->reference_count, sizeof(*view->references));
    if (grown == NULL)
        return parser_no_memory(parser);
    view->references = grown;
    grown[view->reference_count] = *reference;
    return (int64_t)view->reference_count++;
}

static int read_reference(struct view_parser *parser, struct view *view,
                          struct view_expression *expression)
{
    const struct token token = parser->tokens.token;
    struct view_reference reference = {.line = token.line, .column = token.column};
    struct view_entity entity = {.index = VIEW_ONLY};
    int result = parser_name(parser, "a value", &entity.object);

    if (result == 0 && token_is(&parser->tokens.token, "[")) {
        tokens_next(&parser->tokens);
        result = read_index(parser, &entity);
        if (result == 0)
            result = parser_expect(parser, "]");
    }
    if (result == 0 && !token_is(&parser->tokens.token, "."))
        return token_unexpected(&parser->tokens, &parser->tokens.token,
                                "'.' and the name of an attribute", parser->problem);
    if (result == 0)
        result = parser_expect(parser, ".");
    if (result == 0)
        result = parser_name(parser, "the name of an attribute", &reference.attribute);
    if (result < 0)
        return result;
    int64_t index = add_entity(parser, view, &entity, &token);
    if (index < 0)
        return (int)index;
    reference.entity = (uint32_t)index;
    index = add_reference(parser, view, &reference);
    if (index < 0)
        return (int)index;
    expression->reference = (uint32_t)index;
    return 0;
}

/* ---- operators ---- */

static int read_nested(struct view_parser *parser, struct view *view,
                       struct view_expression **ret_expression)
{
    if (++parser->depth > VIEW_NESTING_MOST)
        return token_problem(&parser->tokens, parser->tokens.token.line,
                             parser->tokens.token.column, parser->problem,
                             "more than %d parentheses in each other", VIEW_NESTING_MOST);
    tokens_next(&parser->tokens);
    int result = read_either(parser, view, ret_expression);
    parser->depth--;
    if (result == 0 && !token_is(&parser->tokens.token, ")"))
        return token_unexpected(&parser->tokens, &parser->tokens.token, "an operator or ')'",
                                parser->problem);
    return result < 0 ? result : parser_expect(parser, ")");
}

static int read_factor(struct view_parser *parser, struct view *view,
                       struct view_expression **ret_expression);

static int read_negated(struct view_parser *parser, struct view *view,
                        struct view_expression *expression)
{
    if (++parser->depth > VIEW_NESTING_MOST)
        return token_problem(&parser->tokens, expression->line, expression->column, parser->problem,
                             "more than %d signs in a row", VIEW_NESTING_MOST);
    tokens_next(&parser->tokens);
    int result = read_factor(parser, view, &expression->left);
    parser->depth--;
    return result < 0 ? result : check_kind(parser, expression->left, false);
}

static int read_factor(struct view_parser *parser, struct view *view,
                       struct view_expression **ret_expression)
{
    const struct token token = parser->tokens.token;
    int result = 0;

    if (token_is(&token, "("))
        return read_nested(parser, view, ret_expression);
    struct view_expression *expression = new_expression(parser, VIEW_NUMBER, &token);
    if (expression == NULL)
        return parser->expressions > VIEW_EXPRESSIONS_MOST ? -EINVAL : -ENOMEM;
    if (token_is(&token, "-")) {
        expression->kind = VIEW_NEGATE;
        result = read_negated(parser, view, expression);
    } else if (token.kind == TOKEN_NUMBER) {
        result = parser_number(parser, "a number", 1e300, &expression->number);
    } else if (token.kind == TOKEN_TEXT) {
        expression->kind = VIEW_TEXT;
        expression->text = parser_keep(parser, token.start, token.size);
        result = expression->text == NULL ? parser_no_memory(parser) : 0;
        tokens_next(&parser->tokens);
    } else if (token.kind == TOKEN_NAME) {
        expression->kind = VIEW_REFERENCE;
        result = read_reference(parser, view, expression);
    } else {
        result =
            token_unexpected(&parser->tokens, &token,
                             "a value: Object[1].attribute, a constant or '('", parser->problem);
    }
    if (result == 0)
        *ret_expression = expression;
    return result;
}

struct operator_word {
    const char *word;
    enum view_kind kind;
};

static const struct operator_word product_words[] = {{"*", VIEW_MULTIPLY}, {"/", VIEW_DIVIDE}, {0}};
static const struct operator_word sum_words[] = {{"+", VIEW_ADD}, {"-", VIEW_SUBTRACT}, {0}};
static const struct operator_word comparison_words[] = {{"=", VIEW_EQUAL},
                                                        {"<>", VIEW_NOT_EQUAL},
                                                        {">", VIEW_GREATER},
                                                        {">=", VIEW_GREATER_EQUAL},
                                                        {"<", VIEW_LESS},
                                                        {"<=", VIEW_LESS_EQUAL},
                                                        {0}};
static const struct operator_word and_words[] = {{"AND", VIEW_AND}, {0}};
static const struct operator_word or_words[] = {{"OR", VIEW_OR}, {0}};

/* From what binds most to what binds least. */
static const struct level {
    const struct operator_word *words;
    bool predicates; /* what it connects */
    bool once;
} levels[] = {{product_words, false, false},
              {sum_words, false, false},
              {comparison_words, false, true},
              {and_words, true, false},
              {or_words, true, false}};

static const struct operator_word *find_operator(const struct operator_word *words,
                                                 const struct token *token)
{
    for (; words->word != NULL; words++)
        if (token_is(token, words->word))
            return words;
    return NULL;
}

static int read_level(struct view_parser *parser, struct view *view, size_t level,
                      struct view_expression **ret_expression)
{
    struct view_expression *left = NULL, *right = NULL;
    const struct operator_word *found;
    int result =
        level == 0 ? read_factor(parser, view, &left) : read_level(parser, view, level - 1, &left);
    size_t count = 0;

    while (result == 0 &&
           (found = find_operator(levels[level].words, &parser->tokens.token)) != NULL) {
        const struct token token = parser->tokens.token;
        if (levels[level].once && count > 0)
            return token_unexpected(&parser->tokens, &token, "AND, OR or the end of the predicate",
                                    parser->problem);
        count++;
        tokens_next(&parser->tokens);
        result = level == 0 ? read_factor(parser, view, &right)
                            : read_level(parser, view, level - 1, &right);
        if (result == 0)
            result = check_kind(parser, left, levels[level].predicates);
        if (result == 0)
            result = check_kind(parser, right, levels[level].predicates);
        if (result < 0)
            return result;
        struct view_expression *joined = new_expression(parser, found->kind, &token);
        if (joined == NULL)
            return parser->expressions > VIEW_EXPRESSIONS_MOST ? -EINVAL : -ENOMEM;
        joined->line = left->line;
        joined->column = left->column;
        joined->left = left;
        joined->right = right;
        left = joined;
    }
    if (result == 0)
        *ret_expression = left;
    return result;
}

static int read_either(struct view_parser *parser, struct view *view,
                       struct view_expression **ret_expression)
{
    return read_level(parser, view, ARRAY_SIZE(levels) - 1, ret_expression);
}

int parser_value(struct view_parser *parser, struct view *view, struct view_expression **ret_value)
{
    parser->expressions = 0;
    int result = read_either(parser, view, ret_value);

    return result < 0 ? result : check_kind(parser, *ret_value, false);
}

int parser_predicate(struct view_parser *parser, struct view *view,
                     struct view_expression **ret_predicate)
{
    parser->expressions = 0;
    int result = read_either(parser, view, ret_predicate);

    return result < 0 ? result : check_kind(parser, *ret_predicate, true);
}

/* SPDX-License-Identifier: MIT */
/*
 * notify_clause.c: who is notified. The paper has the first form only.
 *
 *      NOTIFY 119 OF seventh@cis.ohio-state.edu WITHIN 1000 MS;
 *      NOTIFY SUBJECT "queue.full" OF web1:4222 WITHIN 1 S;
 *      NOTIFY COMMAND "logger -t queue" WITHIN 1 S;
 */
#include "view/view_expressions.h"

#include <errno.h>
#include <string.h>

static int read_host(struct view_parser *parser, struct view *view)
{
    tokens_host(&parser->tokens);
    parser->name_most = VIEW_HOST_MOST;
    int result = parser_name(parser, "a host: NAME or USER@NAME", &view->host);
    parser->name_most = VIEW_NAME_MOST;
    return result;
}

/* A text in double quotes that is not empty. */
static int read_quoted(struct view_parser *parser, const char *expected, const char **ret_text)
{
    const struct token token = parser->tokens.token;

    if (token.kind != TOKEN_TEXT || token.size == 0 || token.size > VIEW_COMMAND_MOST)
        return token_unexpected(&parser->tokens, &token, expected, parser->problem);
    *ret_text = parser_keep(parser, token.start, token.size);
    tokens_next(&parser->tokens);
    return *ret_text == NULL ? parser_no_memory(parser) : 0;
}

static int read_port(struct view_parser *parser, struct view *view)
{
    static const char expected[] = "the number of a port, 1 to 65535, SUBJECT or COMMAND";
    const struct token token = parser->tokens.token;
    double port = 0;
    int result = parser_number(parser, expected, UINT16_MAX, &port);

    if (result == 0 && (port < 1 || port != (uint16_t)port))
        return token_unexpected(&parser->tokens, &token, expected, parser->problem);
    view->port = (uint16_t)port;
    return result;
}

/* PORT OF HOST | SUBJECT "text" OF HOST | COMMAND "text" */
static int read_receiver(struct view_parser *parser, struct view *view)
{
    const struct token token = parser->tokens.token;
    bool subject = token_is(&token, "SUBJECT");
    int result;

    if (subject || token_is(&token, "COMMAND")) {
        tokens_next(&parser->tokens);
        result = read_quoted(parser,
                             subject ? "a subject of NATS in double quotes, at most 1023 bytes"
                                     : "a command in double quotes, at most 1023 bytes",
                             subject ? &view->subject : &view->command);
        if (!subject)
            return result;
        for (const char *at = view->subject; result == 0 && *at != '\0'; at++)
            if (strchr(" \t\r*>", *at) != NULL)
                result = token_problem(&parser->tokens, token.line, token.column, parser->problem,
                                       "a subject has neither blanks nor '*' nor '>'");
    } else {
        result = read_port(parser, view);
    }
    /* the host is no usual token, so OF is checked before the next token is read */
    if (result == 0)
        result = parser_expect(parser, "OF");
    return result < 0 ? result : read_host(parser, view);
}

int parser_notify(struct view_parser *parser, struct view *view)
{
    tokens_next(&parser->tokens);
    int result = read_receiver(parser, view);

    view->notifies = true;
    if (result == 0)
        result = parser_expect(parser, "WITHIN");
    if (result == 0)
        result = parser_time(parser, &view->within);
    return result < 0 ? result : parser_expect(parser, ";");
}

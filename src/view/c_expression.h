/* SPDX-License-Identifier: MIT */
/*
 * c_expression.h: the C expressions of attributes. Private to view/. Accepted is what only reads: variables, members,
 * elements, constants and operators; neither calls nor assignments.
 *
 *      endRequestTime - requests[0].begin      variables: endRequestTime, requests
 */
#ifndef DPM_VIEW_C_EXPRESSION_H
#define DPM_VIEW_C_EXPRESSION_H

#include "view/view.h"

struct c_fault {
    size_t at; /* bytes from the beginning */
    size_t size;
    const char *expected;
};

/* Checks the expression, calls `variable` for each variable in it (not for members), and returns 0; -EINVAL with
 * *ret_fault; or what `variable` returned, if negative. */
int c_expression_check(const char *text, size_t size,
                       int (*variable)(void *context, const char *name, size_t size), void *context,
                       struct c_fault *ret_fault);

#endif

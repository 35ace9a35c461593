/* SPDX-License-Identifier: MIT */
/* xml.h: text in pictures (SVG) and pages, which are XML, too. Private to show/. */
#ifndef DPM_XML_H
#define DPM_XML_H

#include <stdio.h>

/* Prints a text, as people see it and no markup. It has no control characters any more (show_text); what else XML lacks,
 * U+FFFE and U+FFFF, is '?'. */
void xml_text(FILE *file, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/* xml.h: text in SVG pictures and HTML pages, which are XML, too; and in graphs for Graphviz. Private to show/. */
#ifndef DPM_XML_H
#define DPM_XML_H

#include <stdio.h>

/* Prints a text with its markup characters escaped. The text has no control characters (show_text made it); U+FFFE and
 * U+FFFF, which XML also forbids, become '?'. */
void xml_text(FILE *file, const char *text);

/* Prints a quoted string of the language DOT. A backslash would begin an escape (node name, line alignment). */
void dot_string(FILE *file, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/* live_page.h: the page of dpm live, made when DPM is built, by scripts/embed_page: from live_page.html, *.js and *.css here, and
 * from the style and the elements that pages of reports have, too. It knows nothing but the snapshots that it is sent. */
#ifndef DPM_LIVE_PAGE_H
#define DPM_LIVE_PAGE_H

extern const char live_page[];        /* one HTML document, with its script and style */
extern const char live_page_policy[]; /* its Content-Security-Policy */

#endif

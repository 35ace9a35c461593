/* SPDX-License-Identifier: MIT */
/* findings_private.h: what the files of findings/ share. Private to findings/. */
#ifndef DPM_FINDINGS_PRIVATE_H
#define DPM_FINDINGS_PRIVATE_H

#include "analysis/findings/findings.h"

#define FINDINGS_FEW 3 /* per topic */

/* Adds a finding; the caller fills in its figures. NULL: out of memory. */
struct finding *findings_add(struct findings *findings, enum finding_kind kind, double weight);

bool findings_have(const struct findings *findings, enum finding_kind kind);

double findings_share(uint64_t part, uint64_t whole); /* 0 to 1; 0 if `whole` is 0 */

/* The account of the command, if its beginning and end were recorded; otherwise that of requests: a service's waits
 * between them explain nothing. NULL: neither is there. */
const struct elapsed_account *findings_account(const struct elapsed *elapsed);

/* Whether the account is of a hundredth of the recording or more: an MQTT broker passes on thousands of messages, but the only
 * requests with an answer are its clients' CONNECTs. */
bool findings_account_matters(const struct findings_from *from);

double finding_share(const struct finding *finding); /* of the elapsed time, 0 to 1; 0: none */

/* The row of the process whose first stream has this number; NO_PROCESS: it has none of its own. */
uint32_t findings_row_of(const struct communication *communication, uint32_t origin,
                         uint32_t stream);

/* Whether a cgroup of this machine used up its CPU limit often. */
bool findings_throttled(const struct communication *communication, uint32_t machine);

/* The same for the cgroup of a process, or one above it; or whether it would, if its CPU time were `growth` times as much. */
bool findings_process_limited(const struct communication *communication,
                              const struct communication_process *process, double growth);

/* Each adds the findings of its topics. Returns 0 or -ENOMEM. */
int findings_of_elapsed(const struct findings_from *from, struct findings *findings);
/* After those of connections. */
int findings_of_changes(const struct findings_from *from, struct findings *findings);
int findings_of_work(const struct findings_from *from, struct findings *findings);
int findings_of_time(const struct findings_from *from, struct findings *findings);
/* What explains nothing: waits for messages of processes that have no part in the critical path, as for work; queues that
 * a process has to itself; waits for timers and disks, if the elapsed time is accounted for. */
void findings_put_aside(const struct findings_from *from, struct findings *findings);
int findings_of_path(const struct findings_from *from, struct findings *findings);
int findings_of_pauses(const struct findings_from *from, struct findings *findings);
int findings_of_runtimes(const struct findings_from *from, struct findings *findings);
int findings_of_patterns(const struct findings_from *from, struct findings *findings);
int findings_of_messages(const struct findings_from *from, struct findings *findings);
int findings_of_requests(const struct findings_from *from, struct findings *findings);
int findings_of_connections(const struct findings_from *from, struct findings *findings);
int findings_of_network(const struct findings_from *from, struct findings *findings);
int findings_of_files(const struct findings_from *from, struct findings *findings);
int findings_of_machines(const struct findings_from *from, struct findings *findings);
int findings_of_waits(const struct findings_from *from, struct findings *findings);

/* In which order findings are shown: what broke, where the time went, what would help most, what else a person can act on, what
 * explains less; where the time of a few short requests went. */
enum finding_order {
    ORDER_BROKE,
    ORDER_ACCOUNT,
    ORDER_CHANGE,
    ORDER_TO_DO,
    ORDER_EXPLAINS,
    ORDER_SMALL_ACCOUNT
};

enum finding_order finding_order_of(const struct finding *finding);

#endif

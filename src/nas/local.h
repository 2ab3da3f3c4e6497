// SPDX-License-Identifier: MIT
/*
 * A look at this machine's own arrays, without a shell: prints what the standard command of
 * md/look.h prints.
 *
 * Reading /proc and /sys can block behind a lock of md's; those waits end at a signal (mddev_lock()
 * in drivers/md/md.h is mutex_lock_interruptible()), so a timer interrupts the read at the
 * deadline. Whatever cannot be interrupted is ended by the parent's own deadline.
 */
#ifndef RG_NAS_LOCAL_H
#define RG_NAS_LOCAL_H

#include <stdint.h>

#include "nas/frame.h"

/* Reads ROOT/proc/mdstat and so on until `deadline_ms` (boot time) into result->raw; `result` must
 * be all-zero or cleared. SENSOR_OK, perhaps partial; SENSOR_EXIT_STATUS when mdstat cannot be
 * read, as the command would fail; SENSOR_DEADLINE; SENSOR_TOO_MUCH. Uses SIGALRM and ITIMER_REAL:
 * for the probe's own process only. */
void nas_local_look(const char *root, int64_t deadline_ms, struct probe_result *result);

#endif

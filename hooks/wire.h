// SPDX-License-Identifier: MIT
/*
 * What the two programs of the hook say to each other: over a Unix stream socket that the inner one
 * has as descriptor HOOK_FD. The outer one says HOOK_HELLO before it starts the inner one: the
 * vzdump worker's pid and start time (field 22 of /proc/PID/stat, 0 where it cannot be read). The
 * inner one says HOOK_FAIL just before it exits with that status; an exit status that was not
 * announced so is never taken as a verdict. The inner one is started with SIGTERM, SIGINT and
 * SIGHUP blocked.
 */
#ifndef RG_HOOKS_WIRE_H
#define RG_HOOKS_WIRE_H

#define HOOK_FD 3
#define HOOK_HELLO "rebuildgate-hook 1 %ld %llu\n"
#define HOOK_FAIL "fail %d\n"
#define HOOK_EXEC "exec %d\n" /* by the child that could not become the inner hook: errno */
#define HOOK_INNER "rebuildgate-vzdump-inner"

/* Instead of a phase, by hand or by a unit: the outer hook becomes the inner one, which says the
 * rest (hooks/inner/keeper.h). */
#define HOOK_PUT_BACK "--put-back"

/* The one status with which our own part fails a phase. */
#define HOOK_EXIT_FAIL 1

#endif

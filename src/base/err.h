// SPDX-License-Identifier: MIT
/*
 * The one way in which a function says why it failed.
 *
 * A function that can fail returns bool and takes a `struct err *` as its last argument. On success
 * the err is untouched; on failure it holds one whole sentence without a final full stop, with the
 * names of things in 'ticks', fit to be shown to a person. `kind` is what callers branch on, never
 * the text. Nothing here allocates, logs or exits.
 */
#ifndef RG_BASE_ERR_H
#define RG_BASE_ERR_H

#include <stdbool.h>

enum err_kind {
	ERR_NONE = 0,
	ERR_INVALID,  /* what a person or a program gave us is wrong */
	ERR_SYS,      /* a system call failed; `sys` is its errno */
	ERR_NOMEM,    /* no memory */
	ERR_LIMIT,    /* larger than what we take */
	ERR_NOTFOUND, /* the thing named is not there */
	ERR_DENIED,   /* not allowed */
	ERR_TIMEOUT,  /* a deadline passed */
	ERR_GONE,     /* the other side is not there, or went away */
	ERR_PROTOCOL, /* the other side said something that we do not understand */
	ERR_BUSY,     /* may work later */
	ERR_CORRUPT,  /* what we stored is not what we stored */
};

struct err {
	enum err_kind kind;
	int sys; /* errno for ERR_SYS, else 0 */
	char text[480];
};

/* Fills `err` (which may be NULL) with a formatted sentence; cut at the buffer's end. Returns
 * false, so that a function can `return err_set(...)`. */
bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set() with ERR_SYS, the errno `sys` and its text after the sentence. Returns false. */
bool err_sys(struct err *err, int sys, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ERR_NOMEM with a fixed sentence. Returns false. */
bool err_nomem(struct err *err);

/* Puts "CONTEXT: " before the sentence that `err` holds. Returns false. */
bool err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

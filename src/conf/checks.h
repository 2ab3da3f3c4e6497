// SPDX-License-Identifier: MIT
/* What single texts of the configuration must look like. */
#ifndef RG_CONF_CHECKS_H
#define RG_CONF_CHECKS_H

#include <stdbool.h>

#include "base/err.h"

bool check_label(const char *text, struct err *err);      /* letters, digits, '-', '_', '.' */
bool check_host(const char *text, struct err *err);       /* a name or an address */
bool check_account(const char *text, struct err *err);    /* a user or a group */
bool check_plain_path(const char *text, struct err *err); /* without '%', which libssh expands */
bool check_webhook(const char *text, struct err *err);    /* https, or http to this machine */
bool check_smtp(const char *text, struct err *err);       /* smtp://HOST[:PORT], smtps:// */
bool check_api(const char *text, struct err *err);        /* https://HOST:PORT */
bool check_network(const char *text, struct err *err);    /* ADDRESS/BITS */
bool check_address(const char *text, struct err *err);    /* NAME@HOST */

#endif

// SPDX-License-Identifier: MIT
/* What rebuildgate.conf may hold. */
#ifndef RG_CONF_SETTINGS_KEYS_H
#define RG_CONF_SETTINGS_KEYS_H

#include "conf/schema.h"

extern const struct schema keys_daemon;  /* struct settings */
extern const struct schema keys_nas;     /* struct nas_settings */
extern const struct schema keys_role;    /* struct role_settings */
extern const struct schema keys_levers;  /* struct nas_lever_settings */
extern const struct schema keys_storage; /* struct storage_settings */
extern const struct schema keys_api;     /* struct api_settings, in each of the next two */
extern const struct schema keys_pve;     /* struct pve_settings */
extern const struct schema keys_pbs;     /* struct pbs_settings */
extern const struct schema keys_notify;  /* struct notify_settings */
extern const struct schema keys_webhook; /* struct webhook_settings */
extern const struct schema keys_smtp;    /* struct smtp_settings */

/* Appends the tables of all settings as Markdown, as they stand in packaging/conf/README.md. */
void keys_daemon_document(struct buf *ret);

#endif

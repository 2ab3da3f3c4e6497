// SPDX-License-Identifier: MIT
#include "conf/settings_keys.h"

#include <stddef.h>

#include "conf/checks.h"
#include "conf/settings.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define SIZE(type, field) sizeof(((struct type *)NULL)->field)
#define AT(type, field) .offset = offsetof(struct type, field)
#define TEXT_AT(type, field) AT(type, field), .size = SIZE(type, field)

static const struct schema_word go_or_not[] = {
	{"allow", VERDICT_ALLOW},
	{"deny", VERDICT_DENY},
	{NULL, 0},
};

static const struct schema_word vias[] = {
	{"ssh", SETTINGS_VIA_SSH},
	{"local", SETTINGS_VIA_LOCAL},
	{NULL, 0},
};

static const struct schema_word vendors[] = {
	{"auto", SETTINGS_VENDOR_AUTO},
	{"generic", SETTINGS_VENDOR_GENERIC},
	{"synology", SETTINGS_VENDOR_SYNOLOGY},
	{"qnap", SETTINGS_VENDOR_QNAP},
	{NULL, 0},
};

static const struct schema_word roles[] = {
	{"data", MD_ROLE_DATA},
	{"system", MD_ROLE_SYSTEM},
	{"cache", MD_ROLE_CACHE},
	{NULL, 0},
};

static const struct schema_key daemon_keys[] = {
	{.name = "node",
		.type = SCHEMA_TEXT,
		TEXT_AT(settings, node),
		.shipped = "",
		.check = check_label,
		.help = "the name of this node; without it the host name up to the first dot"},
	{.name = "socket",
		.type = SCHEMA_PATH,
		TEXT_AT(settings, socket),
		.min = 1,
		.shipped = "/run/rebuildgate/rebuildgate.sock",
		.help = "where hooks and commands find the gate"},
	{.name = "socket_group",
		.type = SCHEMA_TEXT,
		TEXT_AT(settings, socket_group),
		.min = 1,
		.shipped = "rebuildgate",
		.check = check_account,
		.help = "the group that may look"},
	{.name = "override_group",
		.type = SCHEMA_TEXT,
		TEXT_AT(settings, override_group),
		.shipped = "",
		.check = check_account,
		.help = "the group that may overrule and release; without it root only"},
	{.name = "database",
		.type = SCHEMA_PATH,
		TEXT_AT(settings, database),
		.min = 1,
		.shipped = "/var/lib/rebuildgate/rebuildgate.db",
		.help = "the record"},
	{.name = "spill",
		.type = SCHEMA_PATH,
		TEXT_AT(settings, spill),
		.min = 1,
		.shipped = "",
		.help = "takes what the record cannot take for a while; none: the database's name "
			"and -spill"},
	{.name = "spill_size",
		.type = SCHEMA_SIZE,
		AT(settings, spill_size),
		.min = 64 << 10,
		.max = 1 << 30,
		.shipped = "4 MiB",
		.help = "its size, taken at start"},
	{.name = "if_record_fails",
		.type = SCHEMA_WORD,
		AT(settings, if_record_fails),
		.words = go_or_not,
		.shipped = "allow",
		.help = "what a job gets while its decision cannot be recorded"},
	{.name = "retention",
		.type = SCHEMA_SPAN,
		AT(settings, retention_ms),
		.min = MS_DAY,
		.max = 36500 * MS_DAY,
		.shipped = "800d",
		.help = "how long decisions are kept"},
	{.name = "policy",
		.type = SCHEMA_PATH,
		TEXT_AT(settings, policy),
		.min = 1,
		.shipped = "/etc/rebuildgate/policy.conf",
		.help = "the policy's file"},
	{.name = "poll",
		.type = SCHEMA_SPAN,
		AT(settings, poll_ms),
		.min = MS_SECOND,
		.max = MS_HOUR,
		.shipped = "10s",
		.help = "the time between looks while anything goes on or anyone waits"},
	{.name = "idle_poll",
		.type = SCHEMA_SPAN,
		AT(settings, idle_poll_ms),
		.min = MS_SECOND,
		.max = MS_HOUR,
		.shipped = "60s",
		.help = "the time between looks otherwise"},
	{.name = "fresh",
		.type = SCHEMA_SPAN,
		AT(settings, fresh_ms),
		.max = MS_HOUR,
		.shipped = "5s",
		.help = "a request that finds an older reading has the NAS looked at"},
	{.name = "look_deadline",
		.type = SCHEMA_SPAN,
		AT(settings, look_deadline_ms),
		.min = 100,
		.max = 10 * MS_MINUTE,
		.shipped = "5s",
		.help = "how long one look may take"},
	{.name = "stale_after",
		.type = SCHEMA_SPAN,
		AT(settings, stale_after_ms),
		.min = MS_SECOND,
		.max = MS_DAY,
		.shipped = "90s",
		.help = "an older reading counts as none"},
	{.name = "silence",
		.type = SCHEMA_SPAN,
		AT(settings, silence_ms),
		.min = MS_SECOND,
		.max = MS_DAY,
		.shipped = "90s",
		.help = "a held job that has not asked for so long is taken as gone"},
	{.name = "task_poll",
		.type = SCHEMA_SPAN,
		AT(settings, task_poll_ms),
		.min = 2 * MS_SECOND,
		.max = MS_HOUR,
		.shipped = "10s",
		.help = "the time between two looks at a server's running tasks while anything "
			"goes on; else a minute"},
	{.name = "age_poll",
		.type = SCHEMA_SPAN,
		AT(settings, age_poll_ms),
		.min = 10 * MS_MINUTE,
		.max = 30 * MS_DAY,
		.shipped = "6h",
		.help = "the time between two looks at a storage's backups, which read its mount"},
	{.name = "nas", .type = SCHEMA_OTHER},
	{.name = "storages", .type = SCHEMA_OTHER},
	{.name = "pve", .type = SCHEMA_OTHER},
	{.name = "pbs", .type = SCHEMA_OTHER},
	{.name = "notify", .type = SCHEMA_OTHER},
};
const struct schema keys_daemon = {"The daemon", daemon_keys, COUNT(daemon_keys)};

static const struct schema_key nas_keys[] = {
	{.name = "name",
		.type = SCHEMA_TEXT,
		TEXT_AT(nas_settings, name),
		.min = 1,
		.check = check_label,
		.help = "what it is called here; unique"},
	{.name = "via",
		.type = SCHEMA_WORD,
		AT(nas_settings, via),
		.words = vias,
		.shipped = "ssh",
		.help = "how it is looked at; local is this machine itself"},
	{.name = "host",
		.type = SCHEMA_TEXT,
		TEXT_AT(nas_settings, host),
		.shipped = "",
		.check = check_host,
		.help = "its name or address; needed with ssh"},
	{.name = "port",
		.type = SCHEMA_COUNT,
		TEXT_AT(nas_settings, port),
		.min = 1,
		.max = 65535,
		.shipped = "22",
		.help = "of its SSH server"},
	{.name = "user",
		.type = SCHEMA_TEXT,
		TEXT_AT(nas_settings, user),
		.min = 1,
		.shipped = "rebuildgate",
		.check = check_account,
		.help = "who logs in there"},
	{.name = "key_file",
		.type = SCHEMA_PATH,
		TEXT_AT(nas_settings, key_file),
		.min = 1,
		.shipped = "/etc/rebuildgate/id_ed25519",
		.secret = true,
		.check = check_plain_path,
		.help = "the private key; nobody else may read it"},
	{.name = "known_hosts",
		.type = SCHEMA_PATH,
		TEXT_AT(nas_settings, known_hosts),
		.min = 1,
		.shipped = "/etc/rebuildgate/known_hosts",
		.check = check_plain_path,
		.help = "the host keys that are trusted; `rebuildgate nas trust NAME` adds one"},
	{.name = "vendor",
		.type = SCHEMA_WORD,
		AT(nas_settings, vendor),
		.words = vendors,
		.shipped = "auto",
		.help = "whose NAS it is: which arrays are its system's"},
	{.name = "root",
		.type = SCHEMA_PATH,
		TEXT_AT(nas_settings, root),
		.shipped = "",
		.help = "with local: the folder that /proc and /sys are below"},
	{.name = "roles", .type = SCHEMA_OTHER},
	{.name = "levers", .type = SCHEMA_OTHER},
};
const struct schema keys_nas = {"A NAS: `nas = ( { ... } )`", nas_keys, COUNT(nas_keys)};

static const struct schema_key role_keys[] = {
	{.name = "array",
		.type = SCHEMA_TEXT,
		TEXT_AT(role_settings, array),
		.min = 1,
		.check = check_label,
		.help = "as in /proc/mdstat, for example \"md2\""},
	{.name = "role",
		.type = SCHEMA_WORD,
		AT(role_settings, role),
		.words = roles,
		.help = "what it is for, whatever was recognised"},
};
const struct schema keys_role = {
	"An array's role: `roles = ( { ... } )` in a NAS", role_keys, COUNT(role_keys)};

static const struct schema_key lever_keys[] = {
	{.name = "user",
		.type = SCHEMA_TEXT,
		TEXT_AT(nas_lever_settings, user),
		.min = 1,
		.shipped = "root",
		.check = check_account,
		.help = "who may change them there"},
	{.name = "key_file",
		.type = SCHEMA_PATH,
		TEXT_AT(nas_lever_settings, key_file),
		.min = 1,
		.shipped = "/etc/rebuildgate/id_ed25519_levers",
		.secret = true,
		.check = check_plain_path,
		.help = "a second private key, whose forced command on the NAS is nas-levers"},
	{.name = "floor",
		.type = SCHEMA_BOOL,
		AT(nas_lever_settings, floor),
		.shipped = "true",
		.help = "sync_speed_min of a rebuilding array may be raised"},
	{.name = "stripe_cache",
		.type = SCHEMA_BOOL,
		AT(nas_lever_settings, stripe_cache),
		.shipped = "false",
		.help = "stripe_cache_size of RAID 4, 5 and 6 as well"},
	{.name = "stripe_memory",
		.type = SCHEMA_PERCENT,
		AT(nas_lever_settings, stripe_memory_ppm),
		.min = 10000,
		.max = 500000,
		.shipped = "10%",
		.help = "the share of the NAS's memory that it may take"},
	{.name = "pause_check",
		.type = SCHEMA_BOOL,
		AT(nas_lever_settings, pause_check),
		.shipped = "false",
		.help = "a check or repair gives way to backups, and goes on afterwards"},
};
const struct schema keys_levers = {"What may be moved on a NAS itself: `levers = { ... }` in a NAS",
	lever_keys, COUNT(lever_keys)};

static const struct schema_key storage_keys[] = {
	{.name = "name",
		.type = SCHEMA_TEXT,
		TEXT_AT(storage_settings, name),
		.min = 1,
		.check = check_label,
		.help = "as Proxmox VE or the backup server calls it; unique"},
	{.name = "nas",
		.type = SCHEMA_TEXT,
		.offset = offsetof(struct storage_settings, mapping.nas),
		.size = NAS_NAME_MAX,
		.min = 1,
		.check = check_label,
		.help = "the NAS that it writes to"},
	{.name = "arrays", .type = SCHEMA_OTHER},
	{.name = "pbs",
		.type = SCHEMA_TEXT,
		TEXT_AT(storage_settings, pbs),
		.shipped = "",
		.check = check_label,
		.help = "the backup server (of `pbs`) whose datastore it is"},
	{.name = "datastore",
		.type = SCHEMA_TEXT,
		TEXT_AT(storage_settings, datastore),
		.shipped = "",
		.check = check_label,
		.help = "its name there; none: that of the storage"},
	{.name = "pve",
		.type = SCHEMA_TEXT,
		TEXT_AT(storage_settings, pve),
		.shipped = "",
		.check = check_label,
		.help = "the cluster (of `pve`) that has it; none: the only one"},
};
const struct schema keys_storage = {
	"A storage: `storages = ( { ... } )`", storage_keys, COUNT(storage_keys)};

static const struct schema_key api_keys[] = {
	{.name = "name",
		.type = SCHEMA_TEXT,
		TEXT_AT(api_settings, name),
		.min = 1,
		.check = check_label,
		.help = "what it is called here; unique"},
	{.name = "url",
		.type = SCHEMA_TEXT,
		TEXT_AT(api_settings, url),
		.min = 1,
		.check = check_api,
		.help = "where its API is, https://HOST:PORT"},
	{.name = "token_file",
		.type = SCHEMA_PATH,
		TEXT_AT(api_settings, token_file),
		.min = 1,
		.secret = true,
		.help = "the file with its API token, one line USER@REALM!ID=SECRET; nobody else "
			"may read it"},
	{.name = "fingerprints", .type = SCHEMA_OTHER},
	{.name = "ca_file",
		.type = SCHEMA_PATH,
		TEXT_AT(api_settings, ca_file),
		.shipped = "",
		.help = "who signed its certificate; none: the system's authorities, unless "
			"`fingerprints` are given"},
};
const struct schema keys_api = {
	"A server's API: in each entry of `pve` and `pbs`", api_keys, COUNT(api_keys)};

static const struct schema_key pve_keys[] = {
	{.name = "stop_jobs",
		.type = SCHEMA_BOOL,
		AT(pve_settings, stop_jobs),
		.shipped = "false",
		.help = "jobs that already write may be stopped where a rule says so"},
};
const struct schema keys_pve = {
	"Proxmox VE: `pve = ( { ... } )`, one for each cluster", pve_keys, COUNT(pve_keys)};

static const struct schema_key pbs_keys[] = {
	{.name = "throttle",
		.type = SCHEMA_BOOL,
		AT(pbs_settings, throttle),
		.shipped = "true",
		.help = "a traffic-control rule of ours may be made there"},
	{.name = "networks", .type = SCHEMA_OTHER},
};
const struct schema keys_pbs = {
	"Proxmox Backup Server: `pbs = ( { ... } )`", pbs_keys, COUNT(pbs_keys)};

static const struct schema_key notify_keys[] = {
	{.name = "repeat",
		.type = SCHEMA_SPAN,
		AT(notify_settings, repeat_ms),
		.max = 30 * MS_DAY,
		.shipped = "1h",
		.help = "the same about the same is not told again before"},
	{.name = "max_per_hour",
		.type = SCHEMA_COUNT,
		AT(notify_settings, max_per_hour),
		.min = 1,
		.max = 3600,
		.shipped = "30",
		.help = "notices to one target"},
	{.name = "webhooks", .type = SCHEMA_OTHER},
	{.name = "smtp", .type = SCHEMA_OTHER},
};
const struct schema keys_notify = {"Notices: `notify = { ... }`", notify_keys, COUNT(notify_keys)};

static const struct schema_key webhook_keys[] = {
	{.name = "url",
		.type = SCHEMA_TEXT,
		TEXT_AT(webhook_settings, url),
		.min = 1,
		.check = check_webhook,
		.help = "where a notice is posted as JSON"},
	{.name = "events", .type = SCHEMA_OTHER},
};
const struct schema keys_webhook = {
	"A webhook: `webhooks = ( { ... } )` in `notify`", webhook_keys, COUNT(webhook_keys)};

static const struct schema_key smtp_keys[] = {
	{.name = "url",
		.type = SCHEMA_TEXT,
		TEXT_AT(smtp_settings, url),
		.min = 1,
		.check = check_smtp,
		.help = "the mail server"},
	{.name = "from",
		.type = SCHEMA_TEXT,
		TEXT_AT(smtp_settings, from),
		.min = 1,
		.check = check_address,
		.help = "the sender"},
	{.name = "to", .type = SCHEMA_OTHER},
	{.name = "user",
		.type = SCHEMA_TEXT,
		TEXT_AT(smtp_settings, user),
		.shipped = "",
		.help = "for the login, where the server wants one"},
	{.name = "password_file",
		.type = SCHEMA_PATH,
		TEXT_AT(smtp_settings, password_file),
		.shipped = "",
		.secret = true,
		.help = "the file with its password; nobody else may read it"},
	{.name = "events", .type = SCHEMA_OTHER},
};
const struct schema keys_smtp = {
	"Mail: `smtp = ( { ... } )` in `notify`", smtp_keys, COUNT(smtp_keys)};

void keys_daemon_document(struct buf *ret)
{
	static const struct schema *const all[] = {&keys_daemon, &keys_nas, &keys_role,
		&keys_levers, &keys_storage, &keys_api, &keys_pve, &keys_pbs, &keys_notify,
		&keys_webhook, &keys_smtp};
	size_t i;

	for (i = 0; i < COUNT(all); i++) {
		buf_addf(ret, "%s### %s\n\n", i ? "\n" : "", all[i]->title);
		schema_document(all[i], ret);
	}
}

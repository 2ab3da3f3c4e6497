// SPDX-License-Identifier: MIT
#include "conf_room.h"

#include "conf/hook_conf.h"
#include "conf/settings.h"
#include "conf/settings_keys.h"

static struct settings *loads(struct room *room, const char *text)
{
	struct conf_errors errors = {0};
	struct settings *settings = NULL;

	settings_load(room_file(room, "main.conf", text), &settings, &errors);
	errors_none(&errors);
	assert_non_null(settings);
	return settings;
}

static void refuses(struct room *room, const char *text, const char *says)
{
	struct conf_errors errors = {0};
	struct settings *settings = NULL;

	if (settings_load(room_file(room, "main.conf", text), &settings, &errors))
		fail_msg("'%s' was taken", text);
	assert_null(settings);
	errors_have(&errors, says);
}

static void an_empty_file_has_all_defaults(void **state)
{
	struct settings *set = loads(*state, "");
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	assert_string_equal(set->node, host);
	assert_string_equal(set->socket, "/run/rebuildgate/rebuildgate.sock");
	assert_string_equal(set->socket_group, "rebuildgate");
	assert_string_equal(set->override_group, "");
	assert_string_equal(set->database, "/var/lib/rebuildgate/rebuildgate.db");
	assert_string_equal(set->policy, "/etc/rebuildgate/policy.conf");
	assert_int_equal(set->spill_size, 4 << 20);
	assert_int_equal(set->if_record_fails, VERDICT_ALLOW);
	assert_int_equal(set->retention_ms, 800 * MS_DAY);
	assert_int_equal(set->poll_ms, 10 * MS_SECOND);
	assert_int_equal(set->idle_poll_ms, 60 * MS_SECOND);
	assert_int_equal(set->fresh_ms, 5 * MS_SECOND);
	assert_int_equal(set->look_deadline_ms, 5 * MS_SECOND);
	assert_int_equal(set->stale_after_ms, 90 * MS_SECOND);
	assert_int_equal(set->silence_ms, 90 * MS_SECOND);
	assert_int_equal(set->notify.repeat_ms, MS_HOUR);
	assert_int_equal(set->notify.max_per_hour, 30);
	assert_int_equal(set->n_nas + set->n_storages + set->n_pve + set->n_pbs, 0);
	assert_int_equal(set->task_poll_ms, 10 * MS_SECOND);
	assert_int_equal(set->age_poll_ms, 6 * MS_HOUR);
	settings_free(set);
}

static const char whole[] =
	"node = \"pve1\"; poll = \"2s\"; if_record_fails = \"deny\"; override_group = "
	"\"operators\";\n"
	"nas = ( { name = \"n1\"; host = \"192.0.2.1\"; port = 2222; vendor = \"qnap\"; roles = ( "
	"{ array = \"md4\"; role = \"cache\"; } ); },\n"
	"  { name = \"n2\"; via = \"local\"; root = \"/srv/fake\"; } );\n"
	"storages = ( { name = \"a\"; nas = \"n1\"; arrays = [\"md2\", \"md3\"]; }, { name = "
	"\"b\"; nas = \"n2\"; } );\n"
	"notify = { repeat = \"0\"; webhooks = ( { url = \"https://h/x\"; events = [\"hold\", "
	"\"lost\"]; }, { url = \"http://127.0.0.1:8/\"; } );\n"
	"  smtp = ( { url = \"smtp://m:25\"; from = \"a@b\"; to = [\"c@d\", \"e@f\"]; user = "
	"\"u\"; password_file = \"/p\"; } ); };\n";

static void everything_is_read(void **state)
{
	struct settings *set = loads(*state, whole);
	struct mapping mapping;

	assert_string_equal(set->node, "pve1");
	assert_int_equal(set->if_record_fails, VERDICT_DENY);
	assert_int_equal(set->n_nas, 2);
	assert_int_equal(set->nas[0].via, SETTINGS_VIA_SSH);
	assert_int_equal(set->nas[0].port, 2222);
	assert_int_equal(set->nas[0].vendor, SETTINGS_VENDOR_QNAP);
	assert_string_equal(set->nas[0].user, "rebuildgate");
	assert_string_equal(set->nas[0].key_file, "/etc/rebuildgate/id_ed25519");
	assert_int_equal(set->nas[0].n_roles, 1);
	assert_int_equal(set->nas[0].roles[0].role, MD_ROLE_CACHE);
	assert_int_equal(set->nas[1].via, SETTINGS_VIA_LOCAL);
	assert_int_equal(set->nas[1].port, 22);
	assert_string_equal(set->nas[1].root, "/srv/fake");
	settings_mapping(set, "a", &mapping);
	assert_string_equal(mapping.nas, "n1");
	assert_int_equal(mapping.n_arrays, 2);
	assert_string_equal(mapping.arrays[1], "md3");
	settings_mapping(set, "b", &mapping);
	assert_int_equal(mapping.n_arrays, 0);
	settings_mapping(set, "nobody", &mapping);
	assert_string_equal(mapping.nas, "");
	assert_int_equal(set->notify.webhooks[0].events, NOTIFY_HOLD | NOTIFY_LOST);
	assert_int_equal(set->notify.webhooks[1].events, NOTIFY_SHIPPED);
	assert_int_equal(set->notify.smtp[0].n_to, 2);
	assert_string_equal(set->notify.smtp[0].to[1], "e@f");
	assert_ptr_equal(settings_nas(set, "n2"), &set->nas[1]);
	assert_null(settings_nas(set, "n3"));
	settings_free(set);
}

#define HEX16 "00:11:22:33:44:55:66:77:88:99:AA:bb:cc:dd:ee:ff"
#define FINGERPRINT HEX16 ":" HEX16

static const char servers[] =
	"task_poll = \"5s\"; age_poll = \"12h\";\n"
	"nas = ( { name = \"n1\"; host = \"h\"; levers = { user = \"admin\"; key_file = "
	"\"credential:levers-key\"; floor = false; stripe_memory = \"5%\"; "
	"pause_check = true; }; }, { name = \"n2\"; host = \"h\"; levers = { }; } );\n"
	"pve = ( { name = \"home\"; url = \"https://pve1.example.com:8006\"; token_file = "
	"\"/etc/rebuildgate/pve.token\"; fingerprints = [\"" FINGERPRINT "\", \"" FINGERPRINT
	"\"]; stop_jobs = true; } );\n"
	"pbs = ( { name = \"p1\"; url = \"https://[2001:db8::7]:8007\"; token_file = "
	"\"credential:pbs\"; ca_file = \"/etc/ssl/ca.pem\"; networks = [\"192.0.2.0/24\", "
	"\"2001:db8::/32\"]; },\n"
	"  { name = \"p2\"; url = \"https://192.0.2.7:8007\"; token_file = \"/t\"; throttle = "
	"false; } );\n"
	"storages = ( { name = \"a\"; nas = \"n1\"; pbs = \"p1\"; datastore = \"tank\"; }, { name "
	"= \"b\"; nas = \"n1\"; pbs = \"p2\"; }, { name = \"c\"; nas = \"n2\"; } );\n";

static void servers_and_levers_are_read(void **state)
{
	struct settings *set = loads(*state, servers);

	assert_int_equal(set->task_poll_ms, 5 * MS_SECOND);
	assert_int_equal(set->age_poll_ms, 12 * MS_HOUR);
	assert_true(set->nas[0].levers.set);
	assert_string_equal(set->nas[0].levers.user, "admin");
	assert_string_equal(set->nas[0].levers.key_file, "credential:levers-key");
	assert_false(set->nas[0].levers.floor);
	assert_true(!set->nas[0].levers.stripe_cache && set->nas[0].levers.pause_check);
	assert_int_equal(set->nas[0].levers.stripe_memory_ppm, 50000);
	assert_true(set->nas[1].levers.set && set->nas[1].levers.floor);
	assert_false(set->nas[1].levers.stripe_cache || set->nas[1].levers.pause_check);
	assert_string_equal(set->nas[1].levers.user, "root");
	assert_string_equal(set->nas[1].levers.key_file, "/etc/rebuildgate/id_ed25519_levers");
	assert_int_equal(set->nas[1].levers.stripe_memory_ppm, 100000);
	assert_ptr_equal(settings_pve(set, "home"), &set->pve[0]);
	assert_null(settings_pve(set, "p1"));
	assert_true(set->pve[0].stop_jobs);
	assert_string_equal(set->pve[0].api.url, "https://pve1.example.com:8006");
	assert_string_equal(set->pve[0].api.token_file, "/etc/rebuildgate/pve.token");
	assert_int_equal(set->pve[0].api.n_fingerprints, 2);
	assert_int_equal(set->pve[0].api.fingerprints[1][10], 0xaa);
	assert_int_equal(set->pve[0].api.fingerprints[0][31], 0xff);
	assert_ptr_equal(settings_pbs(set, "p2"), &set->pbs[1]);
	assert_null(settings_pbs(set, "home"));
	assert_string_equal(set->pbs[0].api.ca_file, "/etc/ssl/ca.pem");
	assert_int_equal(set->pbs[0].api.n_fingerprints, 0);
	assert_true(set->pbs[0].throttle);
	assert_false(set->pbs[1].throttle);
	assert_int_equal(set->pbs[0].n_networks, 2);
	assert_string_equal(set->pbs[0].networks[1], "2001:db8::/32");
	settings_free(set);
}

static void what_a_storage_leaves_out_about_its_servers_is_filled_in(void **state)
{
	struct room *room = *state;
	struct settings *set = loads(room, servers);

	assert_string_equal(settings_storage(set, "a")->datastore, "tank");
	assert_string_equal(settings_storage(set, "b")->datastore, "b");
	assert_string_equal(settings_storage(set, "c")->datastore, "");
	assert_string_equal(settings_storage(set, "c")->pve, "home");
	assert_null(settings_storage(set, "d"));
	settings_free(set);
	/* Of two clusters none is the only one; the second comes from another file. */
	room_file(room, "conf.d/10-a.conf",
		"pve = ( { name = \"away\"; url = \"https://h:8006\"; token_file = \"/t\"; } ); "
		"storages = ( { name = \"d\"; nas = \"n1\"; pve = \"away\"; } );");
	set = loads(room, servers);
	assert_int_equal(set->n_pve, 2);
	assert_string_equal(settings_storage(set, "c")->pve, "");
	assert_string_equal(settings_storage(set, "d")->pve, "away");
	assert_false(set->pve[1].stop_jobs);
	settings_free(set);
}

#define LEVERS(text) "nas = ( { name = \"a\"; host = \"h\"; levers = { " text " }; } );"
#define PVE(text) "pve = ( { name = \"a\"; token_file = \"/t\"; " text " } );"
#define PBS(text)                                                                                  \
	"pbs = ( { name = \"a\"; url = \"https://h:8007\"; token_file = \"/t\"; " text " } );"

static void mistakes_about_servers_and_levers_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{LEVERS("flor = true;"), "'flor' is no setting of 'levers'; did you mean 'floor'?"},
		{LEVERS("floor = false;"), "floor, stripe_cache and pause_check are all false"},
		{LEVERS("floor = false; stripe_cache = true;"),
			"'stripe_cache' has no effect without floor"},
		{LEVERS("key_file = \"/etc/rebuildgate/id_ed25519\";"),
			"needs a key_file of its own"},
		{LEVERS("stripe_memory = \"60%\";"), "stripe_memory lies between 1% and 50%"},
		{LEVERS("key_file = \"credential:a/b\";"), "or \"credential:NAME\", not"},
		{LEVERS("key_file = \"credential:.b\";"), "or \"credential:NAME\", not"},
		{LEVERS("key_file = \"credential:\";"), "or \"credential:NAME\", not"},
		{"nas = ( { name = \"a\"; via = \"local\"; levers = { }; } );",
			"'levers' needs via = \"ssh\""},
		{"nas = ( { name = \"a\"; host = \"h\"; known_hosts = \"credential:a\"; } );",
			"known_hosts is a path from the root, beginning with '/', not"},
		{"pve = ( { name = \"a\"; url = \"https://h:8006\"; } );",
			"an entry of 'pve' needs 'token_file'"},
		{"pbs = ( { url = \"https://h:8006\"; token_file = \"/t\"; } );",
			"an entry of 'pbs' needs 'name'"},
		{PVE(""), "an entry of 'pve' needs 'url'"},
		{PVE("url = \"http://h:8006\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://h\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://h:8006/\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://u@h:8006\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://h:0\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://::1:8006\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://[::1:8006\";"), "is not \"https://HOST:PORT\""},
		{PVE("url = \"https://h:8006\"; throttle = true;"),
			"'throttle' is no setting of an entry of 'pve'"},
		{PBS("stop_jobs = true;"), "'stop_jobs' is no setting of an entry of 'pbs'"},
		{PBS("fingerprints = [\"00:11\"];"), "is not the SHA-256 of a certificate"},
		{PBS("fingerprints = [\"" HEX16 ":" HEX16 ":00\"];"),
			"is not the SHA-256 of a certificate"},
		{PBS("fingerprints = [\"" HEX16 "-" HEX16 "\"];"),
			"is not the SHA-256 of a certificate"},
		{PBS("fingerprints = [\"" HEX16 ":g0:"
		     "11:22:33:44:55:66:77:88:99:AA:bb:cc:dd:ee:ff"
		     "\"];"),
			"is not the SHA-256 of a certificate"},
		{PBS("fingerprints = [ ];"), "'fingerprints' is empty"},
		{PBS("fingerprints = [\"1\",\"2\",\"3\",\"4\",\"5\"];"), "4 are the most"},
		{PBS("fingerprints = [\"" FINGERPRINT "\"]; ca_file = \"/c\";"),
			"two ways to know the same certificate"},
		{PBS("networks = [ ];"), "'networks' is empty"},
		{PBS("networks = [\"192.0.2.0\"];"), "is not a network such as"},
		{PBS("networks = [\"192.0.2.0/33\"];"), "is not a network such as"},
		{PBS("networks = [\"2001:db8::/129\"];"), "is not a network such as"},
		{PBS("networks = [\"192.0.2/24\"];"), "is not a network such as"},
		{PBS("throttle = false; networks = [\"192.0.2.0/24\"];"), "with throttle = false"},
		{PBS("") PBS(""), "stands here a second time"},
		{"pbs = ( { name = \"a\"; url = \"https://h:1\"; token_file = \"/t\"; }, { name = "
		 "\"a\"; url = \"https://h:1\"; token_file = \"/t\"; } );",
			"an entry of 'pbs' called 'a' is configured already"},
		{"pve = ( { name = \"a\"; url = \"https://h:1\"; token_file = \"/t\"; }, { name = "
		 "\"a\"; url = \"https://h:1\"; token_file = \"/t\"; } );",
			"an entry of 'pve' called 'a' is configured already"},
		{"nas = ( { name = \"n\"; host = \"h\"; } ); storages = ( { name = \"s\"; nas = "
		 "\"n\"; pbs = \"z\"; } );",
			"storage 's' names the server pbs = \"z\", which is not configured"},
		{"nas = ( { name = \"n\"; host = \"h\"; } ); storages = ( { name = \"s\"; nas = "
		 "\"n\"; pve = \"z\"; } );",
			"storage 's' names the server pve = \"z\", which is not configured"},
		{"nas = ( { name = \"n\"; host = \"h\"; } ); storages = ( { name = \"s\"; nas = "
		 "\"n\"; datastore = \"z\"; } );",
			"'datastore' has an effect together with 'pbs' only"},
		{PBS("") "nas = ( { name = \"n\"; host = \"h\"; } ); storages = ( { name = "
			 "\"s2345678901234567890123456789012345678901234567890123456789012345\"; "
			 "nas = \"n\"; pbs = \"a\"; } );",
			"needs 'datastore': its own name is too long"},
		{"token_file = \"/x\";", "it stands in an entry of pve"},
		{"task_poll = \"1s\";", "task_poll lies between 2s and 1h"},
		{"age_poll = \"1min\";", "age_poll lies between 10min and 30d"},
	};
	size_t i;

	for (i = 0; i < COUNT(wrong); i++)
		refuses(*state, wrong[i].text, wrong[i].says);
}

static void dropins_add_and_override_in_order(void **state)
{
	struct room *room = *state;
	struct settings *set;

	room_file(room, "conf.d/20-b.conf",
		"poll = \"4s\"; storages = ( { name = \"c\"; nas = \"n3\"; } );");
	room_file(room, "conf.d/10-a.conf",
		"poll = \"3s\"; nas = ( { name = \"n3\"; host = \"h\"; } ); notify = { "
		"max_per_hour = 5; };");
	room_file(room, "conf.d/.hidden.conf", "nonsense");
	room_file(room, "conf.d/c.txt", "nonsense");
	set = loads(room, whole);
	assert_int_equal(set->poll_ms, 4 * MS_SECOND);
	assert_int_equal(set->n_nas, 3);
	assert_int_equal(set->n_storages, 3);
	assert_int_equal(set->notify.max_per_hour, 5);
	assert_int_equal(set->notify.repeat_ms, 0);
	assert_int_equal(set->notify.n_webhooks, 2);
	settings_free(set);
}

static void a_mistake_in_a_dropin_names_its_file(void **state)
{
	struct room *room = *state;

	room_file(room, "conf.d/10-a.conf",
		"\npol = \"3s\"; nas = ( { name = \"n1\"; host = \"h\"; } );");
	refuses(room, whole,
		"conf.d/10-a.conf:2: 'pol' is no setting of rebuildgate.conf; did you mean "
		"'poll'?");
	refuses(room, whole, "conf.d/10-a.conf:2: a NAS called 'n1' is configured already");
}

static void mistakes_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"poll = 10;", "poll is a duration in quotes"},
		{"socket = \"run/x\";", "socket is a path from the root"},
		{"host = \"x\";", "it stands in an entry of nas"},
		{"rules = ( );", "it stands in the policy's file"},
		{"if_record_fails = \"hold\";", "it is \"allow\" or \"deny\""},
		{"idle_poll = \"1s\";", "idle_poll is shorter than poll"},
		{"stale_after = \"30s\";", "stale_after must be longer"},
		{"node = \"a b\";", "node: 'a b' is not made of letters"},
		{"nas = ( { host = \"h\"; } );", "a NAS needs 'name'"},
		{"nas = ( { name = \"a\"; } );", "NAS 'a' needs 'host'"},
		{"nas = ( { name = \"a\"; host = \"u@h\"; } );",
			"is not a host name or an address"},
		{"nas = ( { name = \"a\"; host = \"-h\"; } );", "is not a host name or an address"},
		{"nas = ( { name = \"a\"; host = \"h\"; port = 65536; } );",
			"port lies between 1 and 65535"},
		{"nas = ( { name = \"a\"; host = \"h\"; port = \"22\"; } );",
			"port is a plain number"},
		{"nas = ( { name = \"a\"; host = \"h\"; root = \"/x\"; } );",
			"'root' has an effect with via = \"local\" only"},
		{"nas = ( { name = \"a\"; via = \"local\"; user = \"x\"; } );",
			"'user' has an effect with via = \"ssh\" only"},
		{"nas = ( { name = \"a\"; host = \"h\"; key_file = \"/%d\"; } );",
			"has a '%' in it"},
		{"nas = ( { name = \"a\"; host = \"h\"; roles = ( { array = \"md1\"; } ); } );",
			"needs 'role'"},
		{"nas = ( { name = \"a\"; host = \"h\"; roles = ( { array = \"md1\"; role = "
		 "\"data\"; }, { array = \"md1\"; role = \"data\"; } ); } );",
			"array 'md1' has a role already"},
		{"nas = { name = \"a\"; };", "'nas' is a list of groups"},
		{"nas = ( \"a\" );", "'nas' lists groups"},
		{"storages = ( { name = \"s\"; nas = \"zz\"; } );",
			"names the NAS 'zz', which is not configured"},
		{"storages = ( { name = \"s\"; nas = \"a\"; }, { name = \"s\"; nas = \"a\"; } );",
			"a storage called 's' is configured already"},
		{"storages = ( { name = \"s\"; nas = \"a\"; arrays = [ ]; } );",
			"'arrays' is empty"},
		{"storages = ( { name = \"s\"; nas = \"a\"; arrays = [1]; } );",
			"'arrays' holds texts"},
		{"notify = { webhooks = ( { url = \"http://example.com/\"; } ); };",
			"would send notices in the clear"},
		{"notify = { webhooks = ( { url = \"http://127.0.0.1.evil/\"; } ); };",
			"would send notices in the clear"},
		{"notify = { webhooks = ( { url = \"ftp://x\"; } ); };",
			"is not an address such as"},
		{"notify = { webhooks = ( { url = \"https://u:p@h/\"; } ); };",
			"is not an address such as"},
		{"notify = { webhooks = ( { url = \"https://h\"; events = [\"hodl\"]; } ); };",
			"did you mean \"hold\"?"},
		{"notify = { smtp = ( { url = \"smtp://h/x\"; from = \"a@b\"; to = [\"c@d\"]; } ); "
		 "};",
			"is not an address such as \"smtp://HOST:25\""},
		{"notify = { smtp = ( { url = \"smtp://h\"; from = \"ab\"; to = [\"c@d\"]; } ); };",
			"is not a mail address"},
		{"notify = { smtp = ( { url = \"smtp://h\"; from = \"a@b\"; } ); };",
			"mail needs 'to'"},
		{"notify = { smtp = ( { url = \"smtp://h\"; from = \"a@b\"; to = [\"c@d\"]; user = "
		 "\"u\"; } ); };",
			"stand together, or neither"},
	};
	size_t i;

	for (i = 0; i < COUNT(wrong); i++)
		refuses(*state, wrong[i].text, wrong[i].says);
}

static void more_than_the_maximum_is_refused(void **state)
{
	struct buf text = {0};
	int i;

	buf_adds(&text, "nas = (");
	for (i = 0; i <= SETTINGS_MAX_NAS; i++)
		buf_addf(&text, "%s{ name = \"n%d\"; host = \"h\"; }", i ? "," : "", i);
	buf_adds(&text, ");");
	refuses(*state, buf_str(&text), "65 entries stand in 'nas'; 64 are the most");
	buf_release(&text);
}

static void what_needs_a_restart_is_named(void **state)
{
	struct settings before, after;
	struct buf text = {0};

	(void)state;
	settings_defaults(&before);
	settings_defaults(&after);
	after.poll_ms = 1;
	settings_restart_needed(&before, &after, &text);
	assert_string_equal(buf_str(&text), "");
	snprintf(after.socket, sizeof(after.socket), "/x");
	after.spill_size++;
	settings_restart_needed(&before, &after, &text);
	assert_string_equal(buf_str(&text), "socket, spill_size");
	buf_release(&text);
}

static void the_hooks_file_may_be_missing(void **state)
{
	struct conf_errors errors = {0};
	struct hook_conf conf;

	(void)state;
	assert_true(hook_conf_load("/nowhere/hook.conf", &conf, &errors));
	assert_string_equal(conf.gate, "/run/rebuildgate/rebuildgate.sock");
	assert_int_equal(conf.wait_for_gate_ms, 15 * MS_MINUTE);
	assert_int_equal(conf.if_gate_down, VERDICT_ALLOW);
	assert_string_equal(conf.hooks_dir, "/etc/rebuildgate/hooks.d");
	assert_string_equal(conf.hooks_early_dir, "/etc/rebuildgate/hooks-early.d");
	errors_none(&errors);
}

static void the_hooks_file_is_read(void **state)
{
	struct conf_errors errors = {0};
	struct hook_conf conf;

	assert_true(hook_conf_load(room_file(*state, "main.conf",
					   "gate = \"/tmp/g\"; wait_for_gate = \"0\"; "
					   "if_gate_down = \"deny\"; hooks_dir = \"\";"),
		&conf, &errors));
	errors_none(&errors);
	assert_string_equal(conf.gate, "/tmp/g");
	assert_int_equal(conf.wait_for_gate_ms, 0);
	assert_int_equal(conf.if_gate_down, VERDICT_DENY);
	assert_string_equal(conf.hooks_dir, "");
}

static void a_bad_hooks_file_keeps_what_is_good(void **state)
{
	struct conf_errors errors = {0};
	struct hook_conf conf;

	assert_false(hook_conf_load(
		room_file(*state, "main.conf", "if_gate_down = \"deny\";\nwait_for_gate = 15;"),
		&conf, &errors));
	assert_int_equal(conf.if_gate_down, VERDICT_DENY);
	assert_int_equal(conf.wait_for_gate_ms, 15 * MS_MINUTE);
	errors_have(&errors, "main.conf:2: wait_for_gate is a duration");
}

/* The samples that are shipped: as they are, and with each setting switched on. */
static void sample(struct room *room, const char *file, bool daemon)
{
	char line[512];
	struct buf text = {0};
	FILE *from = fopen(file, "r");
	struct conf_errors errors = {0};
	struct hook_conf conf;
	size_t on = 0;

	if (!from)
		fail_msg("%s cannot be read; unit tests run in the root of the repository", file);
	while (fgets(line, sizeof(line), from)) {
		on += line[0] == '#';
		buf_adds(&text, line[0] == '#' ? line + 1 : line);
	}
	fclose(from);
	assert_true(on >= 5);
	if (daemon)
		settings_free(loads(room, buf_str(&text)));
	else
		assert_true(hook_conf_load(
			room_file(room, "main.conf", buf_str(&text)), &conf, &errors));
	errors_none(&errors);
	buf_release(&text);
}

static void the_samples_load(void **state)
{
	sample(*state, "packaging/conf/rebuildgate.conf", true);
	sample(*state, "packaging/conf/hook.conf", false);
}

/* The tables stand in the text as the schemas say them. */
static void the_documents_tables_are_the_schemas(void **state)
{
	struct buf text = {0}, daemon = {0}, hook = {0};
	FILE *from = fopen("packaging/conf/README.md", "r");
	char line[1024];

	(void)state;
	assert_non_null(from);
	while (fgets(line, sizeof(line), from))
		buf_adds(&text, line);
	fclose(from);
	keys_daemon_document(&daemon);
	hook_conf_document(&hook);
	assert_non_null(strstr(buf_str(&text), buf_str(&daemon)));
	assert_non_null(strstr(buf_str(&text), buf_str(&hook)));
	buf_release(&text);
	buf_release(&daemon);
	buf_release(&hook);
}

#define IN_ROOM(test) cmocka_unit_test_setup_teardown(test, room_open, room_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ROOM(an_empty_file_has_all_defaults),
		IN_ROOM(everything_is_read),
		IN_ROOM(servers_and_levers_are_read),
		IN_ROOM(what_a_storage_leaves_out_about_its_servers_is_filled_in),
		IN_ROOM(mistakes_about_servers_and_levers_are_refused),
		IN_ROOM(dropins_add_and_override_in_order),
		IN_ROOM(a_mistake_in_a_dropin_names_its_file),
		IN_ROOM(mistakes_are_refused),
		IN_ROOM(more_than_the_maximum_is_refused),
		cmocka_unit_test(what_needs_a_restart_is_named),
		cmocka_unit_test(the_hooks_file_may_be_missing),
		IN_ROOM(the_hooks_file_is_read),
		IN_ROOM(a_bad_hooks_file_keeps_what_is_good),
		IN_ROOM(the_samples_load),
		cmocka_unit_test(the_documents_tables_are_the_schemas),
	};

	return cmocka_run_group_tests_name("conf_settings", tests, NULL, NULL);
}

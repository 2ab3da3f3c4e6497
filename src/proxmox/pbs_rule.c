// SPDX-License-Identifier: MIT
/* Traffic-control rules: what the server answers, which hides which. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "proxmox/form.h"
#include "proxmox/pbs.h"
#include "proxmox/pbs_net.h"

#define WHAT "the traffic-control rules"

/* The factor of a unit as proxmox-human-byte has it: "", "B", "KB", "K", "Ki", "KiB", any case; 0
 * for none of them. */
static int64_t unit_factor(const char *unit)
{
	static const char letters[] = "kmgtp", upper[] = "KMGTP";
	const char *letter;
	int64_t factor = 1;
	size_t n, i;
	bool binary;

	if (!*unit || ((*unit == 'b' || *unit == 'B') && !unit[1]))
		return 1;
	letter = strchr(letters, *unit);
	n = letter ? (size_t)(letter - letters) : 0;
	if (!letter) {
		letter = strchr(upper, *unit);
		if (!letter)
			return 0;
		n = (size_t)(letter - upper);
	}
	unit++;
	binary = *unit == 'i';
	if (binary)
		unit++;
	if ((*unit == 'b' || *unit == 'B') && !unit[1])
		unit++;
	for (i = 0; i <= n; i++)
		factor *= binary ? 1024 : 1000;
	return *unit ? 0 : factor;
}

/* "9.537 MiB": three digits behind the point at most are written, nine are taken. */
static bool human_bytes(const char *text, int64_t *ret)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(text, digits), part = 0;
	uint64_t number, fraction = 0, scale = 1;
	const char *unit = text + whole;
	int64_t factor;
	size_t i;

	if (*unit == '.') {
		part = strspn(unit + 1, digits);
		unit += 1 + part;
		if (!part || part > 9)
			return false;
	}
	while (*unit == ' ')
		unit++;
	factor = unit_factor(unit);
	if (!whole || !factor ||
		!digits_parse(text, whole, (uint64_t)(INT64_MAX / factor) - 1, &number))
		return false;
	if (part && !digits_parse(text + whole + 1, part, UINT64_C(999999999), &fraction))
		return false;
	for (i = 0; i < part; i++)
		scale *= 10;
	/* Below 10^9 and a factor up to 2^50: in two steps that do not overflow. */
	*ret = (int64_t)number * factor + (int64_t)(fraction * ((uint64_t)factor / scale)) +
		(int64_t)(fraction * ((uint64_t)factor % scale) / scale);
	return true;
}

static bool may_rate(const json_t *rule, const char *name, int64_t *ret, struct err *err)
{
	const json_t *value = json_object_get(rule, name);

	if (!json_is_string(value))
		return json_may_int(rule, name, 0, INT64_MAX, ret, err);
	if (!human_bytes(json_string_value(value), ret))
		return err_set(err, ERR_INVALID, "member '%s' is not a number of bytes: '%.40s'",
			name, json_string_value(value));
	return true;
}

static bool read_networks(const json_t *object, struct pbs_rule *rule, struct err *err)
{
	const json_t *list = json_object_get(object, "network"), *value;
	struct pbs_net net;
	size_t i;

	if (!json_is_array(list))
		return err_set(err, ERR_INVALID, "member 'network' must be a list");
	json_array_foreach(list, i, value)
	{
		const char *text = json_string_value(value);

		if (!text || strlen(text) >= sizeof(rule->networks[0]) ||
			!pbs_net_parse(text, &net))
			return err_set(
				err, ERR_INVALID, "'%.60s' is not a network", text ? text : "");
		if (rule->n_networks == PBS_MAX_NETWORKS) {
			rule->more_networks = true;
			continue;
		}
		snprintf(rule->networks[rule->n_networks], sizeof(rule->networks[0]), "%s", text);
		rule->n_networks++;
	}
	return true;
}

static bool read_timeframes(const json_t *object, struct pbs_rule *rule, struct err *err)
{
	const json_t *list = json_object_get(object, "timeframe"), *value;
	char *const at[2] = {rule->timeframe, rule->timeframe_next};
	size_t i;

	if (!list || json_is_null(list))
		return true;
	if (!json_is_array(list))
		return err_set(err, ERR_INVALID, "member 'timeframe' must be a list");
	json_array_foreach(list, i, value)
	{
		if (!json_is_string(value))
			return err_set(err, ERR_INVALID, "a timeframe must be a text");
		if (i < 2)
			snprintf(at[i], sizeof(rule->timeframe), "%s", json_string_value(value));
		rule->n_timeframes++;
	}
	return true;
}

static bool read_users(const json_t *object, struct pbs_rule *rule, struct err *err)
{
	const json_t *list = json_object_get(object, "users");

	if (list && !json_is_null(list) && !json_is_array(list))
		return err_set(err, ERR_INVALID, "member 'users' must be a list");
	/* An empty list takes nobody, but it still makes it a rule for users. */
	rule->has_users = json_is_array(list);
	return true;
}

static bool read_rule(const json_t *object, struct pbs_rule *rule, struct err *err)
{
	int64_t rate = -1;

	*rule = (struct pbs_rule){0};
	if (!json_is_object(object))
		return err_set(err, ERR_INVALID, "it is not an object");
	if (!json_copy_text(object, "name", rule->name, sizeof(rule->name), err) ||
		!may_rate(object, "rate-in", &rule->rate_in, err) ||
		!may_rate(object, "rate-out", &rule->rate_out, err) ||
		!read_networks(object, rule, err) || !read_timeframes(object, rule, err) ||
		!read_users(object, rule, err) ||
		!answer_may_words(object, "comment", rule->comment, sizeof(rule->comment), err) ||
		!may_rate(object, "cur-rate-in", &rate, err))
		return false;
	rule->cur_rate_in = rate >= 0 ? OPT(rate) : OPT_NONE;
	rate = -1;
	if (!may_rate(object, "cur-rate-out", &rate, err))
		return false;
	rule->cur_rate_out = rate >= 0 ? OPT(rate) : OPT_NONE;
	return true;
}

bool pbs_rules_read(const char *body, size_t len,
	void (*each)(void *data, const struct pbs_rule *rule), void *data, struct err *err)
{
	json_t *root;
	const json_t *list = answer_list(body, len, WHAT, &root, err), *value;
	struct pbs_rule rule;
	bool ok = list != NULL;
	size_t i;

	for (i = 0; ok && i < json_array_size(list); i++) {
		value = json_array_get(list, i);
		ok = read_rule(value, &rule, err) || answer_bad(WHAT, i, err);
		if (ok)
			each(data, &rule);
	}
	json_decref(root);
	return ok;
}

bool pbs_net_parse(const char *text, struct pbs_net *ret)
{
	const char *slash = strchr(text, '/');
	struct pbs_net net = {0};
	char address[64];
	uint64_t bits;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return false;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	net.six = strchr(address, ':') != NULL;
	if (inet_pton(net.six ? AF_INET6 : AF_INET, address, net.address) != 1 ||
		!digits_parse(slash + 1, strlen(slash + 1), net.six ? 128 : 32, &bits))
		return false;
	net.bits = (unsigned int)bits;
	*ret = net;
	return true;
}

bool pbs_net_meets(const struct pbs_net *a, const struct pbs_net *b)
{
	unsigned int bits = a->bits < b->bits ? a->bits : b->bits;
	unsigned int whole = bits / 8, rest = bits % 8;
	unsigned int mask = 0xff00U >> rest & 0xff;

	if (a->six != b->six || memcmp(a->address, b->address, whole) != 0)
		return false;
	return !rest || ((a->address[whole] ^ b->address[whole]) & mask) == 0;
}

/* Whether a connection may be the other's that would be ours. */
static bool takes(const struct pbs_rule *rule, const struct pbs_net *theirs, const char *our)
{
	struct pbs_net ours;

	if (!pbs_net_parse(our, &ours) || !pbs_net_meets(theirs, &ours))
		return false;
	return rule->has_users || theirs->bits >= ours.bits;
}

bool pbs_rule_hides(const struct pbs_rule *rule, const char *const *networks, size_t n)
{
	static const char *const all[] = {"0.0.0.0/0", "::/0"};
	struct pbs_net theirs;
	size_t i, k;

	if (!n) {
		networks = all;
		n = 2;
	}
	if (rule->more_networks)
		return true;
	for (i = 0; i < rule->n_networks; i++) {
		if (!pbs_net_parse(rule->networks[i], &theirs))
			continue;
		for (k = 0; k < n; k++) {
			if (takes(rule, &theirs, networks[k]))
				return true;
		}
	}
	return false;
}

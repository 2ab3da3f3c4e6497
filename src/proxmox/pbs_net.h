// SPDX-License-Identifier: MIT
/* Inside src/proxmox: a network in CIDR form, as a traffic-control rule has it. Pure. */
#ifndef RG_PROXMOX_PBS_NET_H
#define RG_PROXMOX_PBS_NET_H

#include <stdbool.h>
#include <stdint.h>

struct pbs_net {
	bool six;          /* IPv6 */
	unsigned int bits; /* of the prefix */
	uint8_t address[16];
};

/* "10.0.0.0/8", "2001:db8::/32". Host bits may be set, as there. */
bool pbs_net_parse(const char *text, struct pbs_net *ret);

/* Whether the two have an address in common. */
bool pbs_net_meets(const struct pbs_net *a, const struct pbs_net *b);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The two ends of a cable on which a generator is measured by itself.
 *
 *   pass   the near end: lets everything through. A pair of virtual interfaces brings the packets
 *          of a responder in the driver (XDP_TX) only to an end that has a program too.
 *   drop   the far end of a flood: takes what comes to one port out of the world at the least
 *          cost, and passes the rest, without which no neighbour would be found.
 *
 * Both leave the counting to the interface.
 */
#include "bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The port of what is dropped, in host order; set by the loader. */
volatile const u16 PORT = 53;

SEC("xdp") int pass(struct xdp_md *packet)
{
	(void)packet;
	return XDP_PASS;
}

SEC("xdp") int drop(struct xdp_md *packet)
{
	void *end = (void *)(long)packet->data_end;
	u16 type;
	void *network = after_ethernet((void *)(long)packet->data, end, &type);
	struct udp *udp;

	if (!network)
		return XDP_PASS;
	if (type == BE16(ETH_P_IP)) {
		struct ipv4 *ip = network;

		if ((void *)(ip + 1) > end || ip->version_and_length != 0x45 || ip->protocol != IPPROTO_UDP)
			return XDP_PASS;
		udp = (void *)(ip + 1);
	} else if (type == BE16(ETH_P_IPV6)) {
		struct ipv6 *ip = network;

		if ((void *)(ip + 1) > end || ip->next_header != IPPROTO_UDP)
			return XDP_PASS;
		udp = (void *)(ip + 1);
	} else {
		return XDP_PASS;
	}
	if ((void *)(udp + 1) > end || udp->destination != BE16(PORT))
		return XDP_PASS;
	return XDP_DROP;
}

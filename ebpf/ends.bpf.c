/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The two ends of a virtual cable on which a generator is measured alone.
 *
 *   pass   the near end: passes everything. A pair of virtual interfaces delivers the packets of a
 *          responder in the driver (XDP_TX) only to an end that has a program too.
 *   drop   the far end of a flood: drops the packets to one port at the least cost, and passes the
 *          rest, without which no neighbour would be found.
 *
 * The interface counts the packets.
 */
#include "bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The port whose packets are dropped, in host order; set by the loader. */
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

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The cheapest DNS server there can be: sends every query to its port back as its own answer,
 * from where it came in. Addresses and ports change places and QR is set; the rest of the bytes
 * stay. What a generator reaches against it, it reaches by itself.
 */
#include "bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The port that is answered, in host order; set by the loader. */
volatile const u16 PORT = 53;

struct dns {
	u16 id;
	u16 flags;
	u16 counts[4];
} __attribute__((packed));

#define DNS_QR BE16(0x8000)

INLINE void swap_macs(struct ethernet *ethernet)
{
	struct ethernet old = *ethernet;

	__builtin_memcpy(ethernet->destination, old.source, 6);
	__builtin_memcpy(ethernet->source, old.destination, 6);
}

/*
 * Turns the query behind `udp` into its answer. `checksum_needed` says that the packet must not
 * go without: only then is it kept up to date (RFC 1624). Without, 0 says that there is none,
 * which holds for senders that leave the sum to their hardware too.
 */
INLINE int answer(struct udp *udp, void *end, int checksum_needed)
{
	struct dns *dns = (void *)(udp + 1);

	if ((void *)(dns + 1) > end)
		return 0;
	if (udp->destination != BE16(PORT) || dns->flags & DNS_QR)
		return 0;
	udp->destination = udp->source;
	udp->source = BE16(PORT);
	if (checksum_needed) {
		u32 sum = (u16)~udp->checksum + DNS_QR;

		sum = (sum & 0xFFFF) + (sum >> 16);
		sum = (u16)~sum;
		udp->checksum = sum ? sum : 0xFFFF;
	} else {
		udp->checksum = 0;
	}
	dns->flags |= DNS_QR;
	return 1;
}

SEC("xdp") int reflect(struct xdp_md *packet)
{
	void *data = (void *)(long)packet->data;
	void *end = (void *)(long)packet->data_end;
	u16 type;
	void *network = after_ethernet(data, end, &type);

	if (!network)
		return XDP_PASS;
	if (type == BE16(ETH_P_IP)) {
		struct ipv4 *ip = network;

		if ((void *)(ip + 1) > end || ip->version_and_length != 0x45)
			return XDP_PASS;
		if (ip->protocol != IPPROTO_UDP || ip->fragment & IPV4_IS_FRAGMENT)
			return XDP_PASS;
		if (!answer((void *)(ip + 1), end, 0))
			return XDP_PASS;
		u32 source = ip->source;

		ip->source = ip->destination;
		ip->destination = source;
	} else if (type == BE16(ETH_P_IPV6)) {
		struct ipv6 *ip = network;

		if ((void *)(ip + 1) > end || ip->next_header != IPPROTO_UDP)
			return XDP_PASS;
		if (!answer((void *)(ip + 1), end, 1))
			return XDP_PASS;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			u32 source = ip->source[i];

			ip->source[i] = ip->destination[i];
			ip->destination[i] = source;
		}
	} else {
		return XDP_PASS;
	}
	swap_macs(data);
	return XDP_TX;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The cheapest possible DNS server: sends every query to its port back as its own response, by the
 * same interface. Addresses and ports are swapped and QR is set; all other bytes stay. The rate
 * that a generator reaches against it is the generator's own limit.
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

/* Queries longer than this (a multiple of 4) are passed up the stack: no generator sends them. */
#define LONGEST_SUMMED 512

/*
 * The UDP checksum, computed from every byte: on a virtual interface the sender leaves it to
 * hardware that does not exist, so the old one is not valid. It must be right, because receivers
 * join packets (GRO) only where it is. `sum` is that of the addresses. Returns 0 where the
 * packet is incomplete or too long.
 */
INLINE int set_checksum(struct udp *udp, void *end, u64 sum)
{
	u32 length = BE16(udp->length);
	void *at = udp;

	if (length > LONGEST_SUMMED || length < sizeof(*udp))
		return 0;
	udp->checksum = 0;
	sum += BE16(IPPROTO_UDP) + udp->length;
	for (u32 i = 0; i < LONGEST_SUMMED / 4 && length >= 4; i++) {
		/* Otherwise clang counts rounds instead of bytes, which the verifier cannot follow. */
		asm volatile("" : "+r"(at));
		if (at + 4 > end)
			return 0;
		sum += *(u32 *)at;
		at += 4;
		length -= 4;
	}
	asm volatile("" : "+r"(at));
	if (length & 2) {
		if (at + 2 > end)
			return 0;
		sum += *(u16 *)at;
		at += 2;
	}
	if (length & 1) {
		if (at + 1 > end)
			return 0;
		sum += BE16((u16)(*(u8 *)at << 8));
	}
	sum = (sum & 0xFFFFFFFF) + (sum >> 32);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (u16)~sum;
	udp->checksum = sum ? sum : 0xFFFF;
	return 1;
}

/*
 * Turns the query behind `udp` into its response; `addresses` is the sum of the addresses. Over
 * IPv4 a query without a checksum gets a response without one.
 */
INLINE int answer(struct udp *udp, void *end, u64 addresses, int always_summed)
{
	struct dns *dns = (void *)(udp + 1);

	if ((void *)(dns + 1) > end)
		return 0;
	if (udp->destination != BE16(PORT) || dns->flags & DNS_QR)
		return 0;
	if (BE16(udp->length) > LONGEST_SUMMED)
		return 0;
	udp->destination = udp->source;
	udp->source = BE16(PORT);
	dns->flags |= DNS_QR;
	if (!udp->checksum && !always_summed)
		return 1;
	return set_checksum(udp, end, addresses);
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
		u32 source = ip->source;

		if (!answer((void *)(ip + 1), end, (u64)source + ip->destination, 0))
			return XDP_PASS;
		ip->source = ip->destination;
		ip->destination = source;
	} else if (type == BE16(ETH_P_IPV6)) {
		struct ipv6 *ip = network;

		if ((void *)(ip + 1) > end || ip->next_header != IPPROTO_UDP)
			return XDP_PASS;
		u64 addresses = 0;

#pragma unroll
		for (int i = 0; i < 4; i++)
			addresses += (u64)ip->source[i] + ip->destination[i];
		if (!answer((void *)(ip + 1), end, addresses, 1))
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

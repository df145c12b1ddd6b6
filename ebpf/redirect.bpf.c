/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Takes the responses of one DNS server to our ports off the interface, and nothing else; sends queries (inject.h).
 *
 *   UDP, from the server's address and port, to one of our addresses and ports
 *       complete           -> the AF_XDP socket of the receiving queue, or dropped, with the instant of
 *                             its receipt in the eight bytes before it
 *       a fragment         -> counted, and passed to the host
 *   everything else        -> passed to the host
 *
 * Packets on a queue without a socket are passed to the host too.
 */
#include "bpf.h"
#include "inject.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader before the program is loaded; mirrored by `Filter` in crates/sys. */
struct filter {
	u32 server[4];      /* network order; of IPv4 the first word, of which all bits count */
	u32 local[4];       /* network order: our address, or the prefix of our addresses ... */
	u32 local_mask[4];  /* ... under this mask */
	u32 family;         /* 4 or 6 */
	u16 server_port;    /* host order */
	u16 first_port;     /* host order: ours, from ... */
	u16 last_port;      /* ... to, inclusive */
	u16 discard;        /* drop the responses: the run does not need them */
};

volatile const struct filter FILTER = { .family = 4 };

/* One AF_XDP socket a queue. */
struct bpf_map_def SEC("maps") SOCKETS = {
	.type = BPF_MAP_TYPE_XSKMAP,
	.key_size = sizeof(u32),
	.value_size = sizeof(u32),
	.max_entries = 64,
};

/* Packets that were passed to the host, counted for each CPU. */
enum { COUNT_FRAGMENTS, COUNTERS };

struct bpf_map_def SEC("maps") COUNTS = {
	.type = BPF_MAP_TYPE_PERCPU_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(u64),
	.max_entries = COUNTERS,
};

INLINE void count(u32 what)
{
	u64 *counter = bpf_map_lookup_elem(&COUNTS, &what);

	if (counter)
		*counter += 1;
}

/* Whether the ports of a UDP header are the server's and ours. */
INLINE int is_for_us(struct udp *udp, void *end)
{
	if ((void *)(udp + 1) > end)
		return 0;
	u16 port = BE16(udp->destination);

	return BE16(udp->source) == FILTER.server_port && port >= FILTER.first_port && port <= FILTER.last_port;
}

INLINE int is_answer_ipv4(void *data, void *end)
{
	struct ipv4 *ip = data;

	if (data + sizeof(*ip) > end || FILTER.family != 4)
		return 0;
	if (ip->protocol != IPPROTO_UDP || ip->source != FILTER.server[0])
		return 0;
	if ((ip->destination & FILTER.local_mask[0]) != FILTER.local[0])
		return 0;
	if (unlikely(ip->fragment & IPV4_IS_FRAGMENT)) {
		count(COUNT_FRAGMENTS);
		return 0;
	}
	/* With options the UDP header follows later. */
	u32 length = (ip->version_and_length & 0xF) * 4;

	if (length < sizeof(*ip))
		return 0;
	return is_for_us(data + length, end);
}

INLINE int is_answer_ipv6(void *data, void *end)
{
	struct ipv6 *ip = data;

	if (data + sizeof(*ip) > end || FILTER.family != 6)
		return 0;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		if (ip->source[i] != FILTER.server[i])
			return 0;
		if ((ip->destination[i] & FILTER.local_mask[i]) != FILTER.local[i])
			return 0;
	}
	data += sizeof(*ip);
	if (unlikely(ip->next_header == IPPROTO_FRAGMENT)) {
		/* The first byte of the fragment header is the protocol of the fragments. */
		if (data + 8 <= end && *(u8 *)data == IPPROTO_UDP)
			count(COUNT_FRAGMENTS);
		return 0;
	}
	return ip->next_header == IPPROTO_UDP && is_for_us(data, end);
}

/* The reader of the packet needs the time of its receipt. A driver may have no space for it. */
INLINE void stamp(struct xdp_md *packet)
{
	if (bpf_xdp_adjust_meta(packet, -(int)sizeof(u64)))
		return;
	u64 *at = (void *)(long)packet->data_meta;

	if ((void *)(at + 1) <= (void *)(long)packet->data)
		*at = bpf_ktime_get_ns();
}

SEC("xdp") int redirect(struct xdp_md *packet)
{
	void *end = (void *)(long)packet->data_end;
	u16 type;
	void *ip = after_ethernet((void *)(long)packet->data, end, &type);
	int take = 0;

	if (unlikely(is_injected(packet)))
		return inject(packet);
	if (!ip)
		return XDP_PASS;
	if (type == BE16(ETH_P_IP))
		take = is_answer_ipv4(ip, end);
	else if (type == BE16(ETH_P_IPV6))
		take = is_answer_ipv6(ip, end);
	if (!take)
		return XDP_PASS;
	/* The host has no socket for them, and would send an ICMP error for each. */
	if (FILTER.discard)
		return XDP_DROP;
	stamp(packet);
	return bpf_redirect_map(&SOCKETS, packet->rx_queue_index, XDP_PASS);
}

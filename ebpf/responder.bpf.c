/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A DNS server in the driver: sends responses that were made in advance, and passes everything
 * else up to the responder that listens on the same address.
 *
 *   a query to us   find the end of the name ──► lower case and hash, 8 bytes at a time
 *                   ──► slot of (name, type), else of (name, any other type),
 *                       else of the ancestor that exists: NXDOMAIN, or its wildcard
 *                   ──► move the tail, change header and addresses, copy the records, XDP_TX
 *   anything else   XDP_PASS
 *
 * The question is not changed, so it is returned in its own spelling; the records point to it.
 * Nothing of the packet is changed before it is certain that a response will be sent.
 *
 *   SLOTS   open addressing, at most PROBES steps   { key, offsets of name and records, counts }
 *   CHUNKS  64 bytes each                           names in lower case and records, filled with 0
 *
 * Checksums are computed from all bytes, not updated: a sender on the same host may have left its
 * own to hardware that does not exist. The sum of the records is stored with them, the name is
 * added as it is read.
 *
 * The verifier follows every path, and merges two only where it knows the same about both. So
 * loops are functions of their own, of which only the result is known; what is known about a query
 * is passed through memory, where the verifier forgets it; and pointers into the packet are
 * computed again, because their verified range is part of that knowledge.
 */
#include "responder.h"
#include "responder_lookup.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Copies the records to `to`; 0 where they are out of bounds. */
APART int copy_records(struct desk *desk, void *to, void *end)
{
	u32 length = desk->records.length;
	u32 at = desk->records.at;
	void *next = to;

	for (u32 c = 0; c < RECORD_CHUNKS; c++) {
		u32 index = at + c;

		if (c * CHUNK_SIZE + 8 > length)
			break;
		struct chunk *chunk = bpf_map_lookup_elem(&CHUNKS, &index);

		if (!chunk)
			return 0;
		for (u32 w = 0; w < CHUNK_WORDS; w++) {
			if (c * CHUNK_SIZE + w * 8 + 8 > length)
				break;
			if (next + 8 > end)
				return 0;
			WORD64(next) = chunk->words[w];
			next += 8;
		}
	}
	/* The rest of a word is written together with the bytes before it. */
	length = desk->records.length;
	if (length & 7) {
		if (length > LONGEST_RECORDS)
			return 0;
		void *stop = to + length;

		HIDE(stop);
		if (stop > end)
			return 0;
		WORD64(stop - 8) = desk->records.last;
	}
	return 1;
}

/* Writes our OPT record and returns its sum, as if it started at an even byte. */
INLINE u32 write_opt(void *opt, u32 dnssec_ok)
{
	u32 size = SETTINGS.edns_size;

	*(u8 *)opt = 0;
	WORD16(opt + 1) = BE16(TYPE_OPT);
	WORD16(opt + 3) = BE16(size);
	WORD16(opt + 5) = 0;
	WORD16(opt + 7) = BE16(dnssec_ok << 8);
	WORD16(opt + 9) = 0;
	return fold(BE16(TYPE_OPT << 8 | size >> 8) + BE16((size & 0xFF) << 8) + BE16(dnssec_ok));
}

/* Swaps the addresses of the IP packet; returns the sum of its pseudo-header. */
INLINE u64 turn_ip(void *network, void *end, u32 is_ipv6, u32 udp_length)
{
	u64 sum = BE16(IPPROTO_UDP) + BE16(udp_length);

	if (network + (is_ipv6 ? 40 : 20) > end)
		return 0;
	if (is_ipv6) {
		/* No traffic class and no flow, 64 hops. */
		WORD16(network) = BE16(0x6000);
		WORD16(network + 2) = 0;
		WORD16(network + 4) = BE16(udp_length);
		WORD16(network + 6) = BE16(IPPROTO_UDP << 8 | 64);
#pragma unroll
		for (int i = 0; i < 4; i++) {
			u32 source = WORD32(network + 8 + 4 * i);
			u32 destination = WORD32(network + 24 + 4 * i);

			WORD32(network + 8 + 4 * i) = destination;
			WORD32(network + 24 + 4 * i) = source;
			sum += (u64)source + destination;
		}
		return sum;
	}
	u32 source = WORD32(network + 12);
	u32 destination = WORD32(network + 16);

	/* No type of service, don't fragment, 64 hops; the ID stays. */
	WORD16(network) = BE16(0x4500);
	WORD16(network + 2) = BE16(20 + udp_length);
	WORD16(network + 6) = BE16(0x4000);
	WORD16(network + 8) = BE16(64 << 8 | IPPROTO_UDP);
	WORD16(network + 10) = 0;
	WORD32(network + 12) = destination;
	WORD32(network + 16) = source;
	u64 header = (u64)WORD32(network) + WORD32(network + 4) + WORD32(network + 8) + source + destination;

	WORD16(network + 10) = ~fold(header);
	return sum + source + destination;
}

INLINE void turn_ethernet(void *data)
{
	u32 first = WORD32(data), last = WORD16(data + 4);

	WORD32(data) = WORD32(data + 6);
	WORD16(data + 4) = WORD16(data + 10);
	WORD32(data + 6) = first;
	WORD16(data + 10) = last;
}

/* Turns the packet, which has its final length, into the response. 0: the packet is lost. */
INLINE int write_answer(struct xdp_md *packet, struct desk *desk, u32 flags)
{
	struct query *query = &desk->query;
	volatile struct records *records = &desk->records;
	void *data = (void *)(long)packet->data;
	void *end = (void *)(long)packet->data_end;
	void *udp = data + query->udp_at;
	void *dns = udp + UDP_HEADER;
	void *question = dns + DNS_HEADER + query->name_length;
	void *to = question + QUESTION_FIXED;

	if (data + 14 > end || dns + DNS_HEADER > end || to > end)
		return 0;
	/* After the name, whose length decides which bytes are even. */
	u64 tail = WORD32(question);

	if (records->length && !copy_records(desk, to, end))
		return 0;
	tail += records->sum;
	if (records->kind == KIND_NEGATIVE) {
		u32 owner = BE16(0xC000 | (DNS_HEADER + query->name_length - SETTINGS.apex_length));

		if (to + 2 > end)
			return 0;
		WORD16(to) = owner;
		tail += owner;
	}
	u32 length = records->length;
	u32 opt_length = query->has_opt ? OPT_LENGTH : 0;

	if (opt_length) {
		if (length > LONGEST_RECORDS)
			return 0;
		void *opt = to + length;

		HIDE(opt);
		if (opt + OPT_LENGTH > end)
			return 0;
		u32 sum = write_opt(opt, query->dnssec_ok);

		tail += length & 1 ? shifted(sum) : sum;
	}
	u32 tail_sum = fold(tail);

	WORD16(dns + 2) = DNS_QR | DNS_AA | (WORD16(dns + 2) & DNS_COPIED) | flags;
	WORD16(dns + 6) = records->answers;
	WORD16(dns + 8) = records->authorities;
	WORD16(dns + 10) = opt_length ? BE16(1) : 0;

	u32 udp_length = UDP_HEADER + DNS_HEADER + query->name_length + QUESTION_FIXED + length + opt_length;
	u32 ports = WORD32(udp);
	u64 sum = query->name_sum;

	sum += turn_ip(data + query->network_at, end, query->is_ipv6, udp_length);
	WORD32(udp) = ports << 16 | ports >> 16;
	WORD16(udp + 4) = BE16(udp_length);
	sum += (u64)ports + BE16(udp_length) + WORD32(dns) + WORD32(dns + 4) + WORD32(dns + 8);
	sum += query->name_length & 1 ? shifted(tail_sum) : tail_sum;
	u32 checksum = 0xFFFF & ~fold(sum);

	WORD16(udp + 6) = checksum ? checksum : 0xFFFF;
	turn_ethernet(data);
	return 1;
}

/* Moves the first `length` bytes of the frame, which are `gap` bytes after its start, to its start. */
APART int close_gap(void *data, void *end, u32 gap, u32 length)
{
	u32 last_at = length - 8;

	HIDE(last_at);
	if (gap > LARGEST_GAP || last_at > LONGEST_HEAD)
		return 0;
	void *from = data + gap;
	void *last_from = from + last_at;
	void *last_to = data + last_at;

	if (last_from + 8 > end || last_to + 8 > end)
		return 0;
	/* Read before it may be overwritten. */
	u64 last = WORD64(last_from);

	for (u32 i = 0; i < LONGEST_HEAD / 8; i++) {
		if (i * 8 + 8 > length)
			break;
		if (from + i * 8 + 8 > end || data + i * 8 + 8 > end)
			return 0;
		WORD64(data + i * 8) = WORD64(from + i * 8);
	}
	WORD64(last_to) = last;
	return 1;
}

/*
 * Makes the frame `more` bytes longer (or shorter) after the first `head` bytes: 1. 0: there is no
 * space, and nothing has changed; below 0: the packet is lost. Drivers keep little space after a
 * packet, veth less than a cache line, but all keep some before it.
 */
INLINE int resize(struct xdp_md *packet, int more, u32 head)
{
	if (!more || !bpf_xdp_adjust_tail(packet, more))
		return 1;
	if (more < 0 || more > LARGEST_GAP || bpf_xdp_adjust_head(packet, -more))
		return 0;
	return close_gap((void *)(long)packet->data, (void *)(long)packet->data_end, more, head) ? 1 : -1;
}

/* Sends the response; a truncated one where it exceeds the client's limit, none where it does not
 * fit into the packet. */
INLINE int answer(struct xdp_md *packet, struct desk *desk)
{
	struct query *query = &desk->query;
	volatile struct records *records = &desk->records;
	u32 opt_length = query->has_opt ? OPT_LENGTH : 0;
	u32 message = DNS_HEADER + query->name_length + QUESTION_FIXED + records->length + opt_length;
	u32 rcode = records->rcode;
	u32 flags = BE16(rcode);
	u32 truncated = message > query->size;

	if (truncated) {
		flags |= DNS_TC;
		records->kind = KIND_RECORDS;
		records->length = 0;
		records->sum = 0;
		records->answers = 0;
		records->authorities = 0;
	} else if (records->kind == KIND_NEGATIVE) {
		records->at = SETTINGS.negative.at;
		records->last = SETTINGS.negative.last;
		records->sum = SETTINGS.negative.sum;
		records->answers = 0;
		records->authorities = BE16(1);
	} else if (records->kind == KIND_PASS) {
		if (records->length)
			desk->counts.passed_size += 1;
		else
			desk->counts.passed_name += 1;
		return XDP_PASS;
	}
	u32 head = query->udp_at + UDP_HEADER + DNS_HEADER + query->name_length + QUESTION_FIXED;
	u32 frame = head + records->length + opt_length;
	int resized = 0;

	if (frame - query->network_at <= SETTINGS.mtu)
		resized = resize(packet, frame - (packet->data_end - packet->data), head);
	if (!resized) {
		desk->counts.passed_size += 1;
		return XDP_PASS;
	}
	if (resized < 0 || !write_answer(packet, desk, flags))
		return XDP_ABORTED;
	if (truncated)
		desk->counts.truncated += 1;
	if (rcode == NXDOMAIN)
		desk->counts.nxdomain += 1;
	else if (truncated || records->answers)
		desk->counts.found += 1;
	else
		desk->counts.nodata += 1;
	return XDP_TX;
}

/* Whether `length` bytes are options of EDNS, OPTIONS_MAX at most. */
APART int are_options(void *options, void *end, u32 length)
{
	u64 at = 0;

	for (u32 i = 0; i < OPTIONS_MAX; i++) {
		u8 *option = options + at;

		if (at == length)
			break;
		if ((void *)(option + OPTION_FIXED) > end)
			return 0;
		at += OPTION_FIXED + BE16(WORD16(option + 2));
		if (at > OPTIONS_LENGTH_MAX)
			return 0;
	}
	return at == length;
}

/* Reads the OPT record; returns its length, 0 where it is not supported. */
INLINE u32 read_opt(struct query *query, void *opt, void *end)
{
	if (opt + OPT_LENGTH > end)
		return 0;
	/* Owner and type, and the version: an octet after the extended RCODE. */
	if (*(u8 *)opt || WORD16(opt + 1) != BE16(TYPE_OPT) || *(u8 *)(opt + 6))
		return 0;
	u32 size = BE16(WORD16(opt + 3)), options_length = BE16(WORD16(opt + 9));

	query->size = size > SMALLEST_SIZE ? size : SMALLEST_SIZE;
	query->dnssec_ok = *(u8 *)(opt + 7) & 0x80;
	if (options_length && !are_options(opt + OPT_LENGTH, end, options_length))
		return 0;
	return OPT_LENGTH + options_length;
}

/* The length of the name; 0 where it is invalid. */
APART u32 walk(void *name, void *end)
{
	u64 length = 0;

	for (u64 i = 0; i < LABELS_MAX; i++) {
		u8 *at = name + length;

		if ((void *)(at + 1) > end)
			return 0;
		u64 label = *at;

		length += label + 1;
		if (label > 63 || length > MAX_NAME)
			return 0;
		if (!label)
			return length;
	}
	return 0;
}

/* Checks the whole message except the bytes of the name; 0 where it is more than a plain query. */
INLINE int read_message(struct query *query, void *data, void *end)
{
	void *dns = data + query->udp_at + UDP_HEADER;

	if (dns + DNS_HEADER > end)
		return 0;
	u32 additionals = WORD16(dns + 10);

	if (WORD16(dns + 2) & (DNS_QR | DNS_OPCODE) || WORD32(dns + 4) != COUNTS_OF_QUESTION)
		return 0;
	if (WORD16(dns + 8) || additionals & 0xFFFF & ~BE16(1))
		return 0;
	query->name_length = walk(name_in(data, query), end);
	void *name = name_in(data, query);
	void *question = name + query->name_length;

	if (question == name || question + QUESTION_FIXED > end || WORD16(question + 2) != BE16(CLASS_IN))
		return 0;
	u32 length = DNS_HEADER + query->name_length + QUESTION_FIXED;

	query->qtype = BE16(WORD16(question));
	query->dnssec_ok = 0;
	query->size = SMALLEST_SIZE;
	query->has_opt = additionals != 0;
	if (additionals) {
		u32 opt_length = read_opt(query, question + QUESTION_FIXED, end);

		if (!opt_length)
			return 0;
		length += opt_length;
	}
	return length == query->length && length <= end - dns;
}

/* Whether the address at `ip` and the port are ones that we answer at. */
APART int is_ours(void *ip, u32 port, u32 is_ipv6)
{
	for (u32 i = 0; i < ADDRESSES_MAX; i++) {
		if (i >= SETTINGS.address_count)
			break;
		const volatile struct address *address = &SETTINGS.addresses[i];

		if (address->is_ipv6 != is_ipv6 || address->port != port || WORD32(ip) != address->ip[0])
			continue;
		if (!is_ipv6)
			return 1;
		if (WORD32(ip + 4) == address->ip[1] && WORD32(ip + 8) == address->ip[2]
		    && WORD32(ip + 12) == address->ip[3])
			return 1;
	}
	return 0;
}

/*
 * Skips the headers: returns the UDP header, 0 where the packet is not for us, or is a fragment.
 */
INLINE void *read_headers(void *data, void *end, u32 *network_at, u32 *is_ipv6)
{
	if (data + 18 > end)
		return 0;
	u32 type = WORD16(data + 12);
	void *ip = data + 14, *udp;

	*network_at = 14;
	if (unlikely(type == BE16(ETH_P_8021Q))) {
		type = WORD16(data + 16);
		ip = data + 18;
		*network_at = 18;
	}
	if (type == BE16(ETH_P_IP)) {
		udp = ip + 20;
		if (udp + UDP_HEADER > end)
			return 0;
		if (*(u8 *)ip != 0x45 || *(u8 *)(ip + 9) != IPPROTO_UDP || WORD16(ip + 6) & IPV4_IS_FRAGMENT)
			return 0;
		if (!is_ours(ip + 16, WORD16(udp + 2), 0))
			return 0;
		if (BE16(WORD16(ip + 2)) != 20 + BE16(WORD16(udp + 4)))
			return 0;
		*is_ipv6 = 0;
		return udp;
	}
	if (type == BE16(ETH_P_IPV6)) {
		udp = ip + 40;
		if (udp + UDP_HEADER > end)
			return 0;
		if (*(u8 *)ip >> 4 != 6 || *(u8 *)(ip + 6) != IPPROTO_UDP)
			return 0;
		if (!is_ours(ip + 24, WORD16(udp + 2), 1))
			return 0;
		/* IPv6 demands a checksum: packets without one are left to the host. */
		if (WORD16(ip + 4) != WORD16(udp + 4) || !WORD16(udp + 6))
			return 0;
		*is_ipv6 = 1;
		return udp;
	}
	return 0;
}

SEC("xdp") int respond(struct xdp_md *packet)
{
	void *data = (void *)(long)packet->data;
	void *end = (void *)(long)packet->data_end;
	u32 zero = 0, network_at = 0, is_ipv6 = 0;
	void *udp = read_headers(data, end, &network_at, &is_ipv6);

	if (!udp)
		return XDP_PASS;
	struct desk *desk = bpf_map_lookup_elem(&DESK, &zero);

	if (!desk)
		return XDP_PASS;
	struct query *query = &desk->query;

	query->is_ipv6 = is_ipv6;
	query->network_at = network_at;
	query->udp_at = network_at + (is_ipv6 ? 40 : 20);
	query->length = BE16(WORD16(udp + 4)) - UDP_HEADER;
	/* From here on all paths are the same. */
	if (!read_message(query, data, end)) {
		desk->counts.passed_form += 1;
		return XDP_PASS;
	}
	u32 qtype = query->qtype;

	if (qtype == TYPE_IXFR || qtype == TYPE_AXFR || !look_up(desk, data, end)) {
		desk->counts.passed_name += 1;
		return XDP_PASS;
	}
	return answer(packet, desk);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A DNS server in the driver: answers questions whose answers were worked out beforehand, and
 * passes everything else up to the responder that listens on the same address.
 *
 *   a query to us   walk to the end of the name ──► lower case and hash, 8 bytes at a time
 *                   ──► slot of (name, type), else of (name, any other type),
 *                       else of the ancestor that exists: NXDOMAIN, or its wildcard
 *                   ──► move the tail, change header and addresses, copy the records, XDP_TX
 *   anything odd    XDP_PASS
 *
 * The question stays as it is, so it comes back in its own spelling; the records point to it.
 * Nothing of the packet is changed before it is certain that it will be answered.
 *
 *   SLOTS   open addressing, at most PROBES steps   { key, where name and records lie, counts }
 *   CHUNKS  64 bytes each                           names in lower case and records, filled with 0
 *
 * Checksums are summed up anew and not kept up to date: a sender on the same host may have left
 * its own to hardware that is not there. The sum of the records comes with them, the name is
 * summed as it is read.
 *
 * The verifier follows every path, and takes two for one only where it knows the same of both.
 * So loops are functions of their own, of which only the result counts; what is known of a query
 * goes through memory, where the verifier forgets it; and pointers into the packet are made anew,
 * because how far one was found to reach is known of it too.
 */
#include "bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Packets are read in words of any alignment. */
typedef u16 __attribute__((may_alias)) word16;
typedef u32 __attribute__((may_alias)) word32;
typedef u64 __attribute__((may_alias)) word64;

#define WORD16(at) (*(word16 *)(at))
#define WORD32(at) (*(word32 *)(at))
#define WORD64(at) (*(word64 *)(at))

/* The last `n` bytes in memory of a word, with 0 behind them. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LAST_BYTES(word, n) ((word) >> (8 * (8 - (n))))
#else
#define LAST_BYTES(word, n) ((word) << (8 * (8 - (n))))
#endif

/* A function of its own. */
#define APART static __attribute__((noinline))

/* The compiler may make nothing of what it knows of this value. */
#define HIDE(value) asm volatile("" : "+r"(value))

#define ADDRESSES_MAX 16
#define NAME_WORDS 32
#define LABELS_MAX 128
#define MAX_NAME 255
#define CHUNK_WORDS 8
#define CHUNK_SIZE (8 * CHUNK_WORDS)
#define NAME_CHUNKS (8 * NAME_WORDS / CHUNK_SIZE)
#define RECORD_CHUNKS 19
#define LONGEST_RECORDS (RECORD_CHUNKS * CHUNK_SIZE)
#define PROBES 8
#define ENCLOSERS 16            /* ancestors that are looked up below a wildcard's parent */
#define LARGEST_GAP 255
#define LONGEST_HEAD 344        /* all headers, one tag and the longest question */

/* Where we answer. Addresses in network order, IPv4 in the first word. */
struct address {
	u32 ip[4];
	u16 port;       /* network order */
	u16 is_ipv6;
};

/* Records as they go behind a question. */
struct records {
	u64 last;       /* their last 8 bytes */
	u32 at;         /* their first chunk */
	u16 length;     /* in bytes: 0, or at least 8 */
	u16 sum;        /* their Internet checksum, not inverted, as if they began on an even byte */
	u16 answers;    /* how many in the answer section, network order */
	u16 authorities;
	u8 rcode;
	u8 kind;
	u8 flags;
	u8 name_length;
};

enum { KIND_RECORDS, KIND_NEGATIVE, KIND_PASS };
enum { HAS_WILDCARD = 1 };

/* Mirrored by `Slot` in crates/sys. */
struct slot {
	u64 key;        /* 0: empty */
	u32 name_at;    /* the first chunk of the name */
	u32 unused;
	struct records records;
};

/* Set by the loader before the program is loaded; mirrored by `Settings` in crates/sys. */
struct settings {
	u64 seed;
	struct records negative;        /* the SOA of the zone; its owner is filled in */
	u32 slot_mask;
	u16 address_count;
	u16 apex_length;
	u16 any_name;                   /* every name is answered like the empty one */
	u16 has_wildcards;
	u16 edns_size;
	u16 mtu;
	struct address addresses[ADDRESSES_MAX];
};

volatile const struct settings SETTINGS = { .mtu = 1500 };

struct chunk {
	u64 words[CHUNK_WORDS];
};

struct bpf_map_def SEC("maps") SLOTS = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct slot),
	.max_entries = 1,
};

struct bpf_map_def SEC("maps") CHUNKS = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct chunk),
	.max_entries = 1,
};

/* What became of queries, each CPU by itself; mirrored by `Counts` in crates/sys. */
struct counts {
	u64 found;              /* answered: NOERROR, with answer records or with TC=1 */
	u64 nodata;             /* answered: NOERROR without an answer record */
	u64 nxdomain;           /* answered: NXDOMAIN, whatever aliases led to it */
	u64 truncated;          /* beside: answered with TC=1 */
	u64 passed_form;        /* passed up: more than a plain question */
	u64 passed_name;        /* passed up: a name or type that is not in the map */
	u64 passed_size;        /* passed up: the answer has no room in the map or in the packet */
};

/* What is known of a query. Volatile, so that the verifier meets what it has forgotten. */
struct query {
	volatile u64 hash;
	volatile u64 name_sum;  /* of the bytes of the name as they came */
	volatile u64 part_sum;  /* the same of an ancestor, which nobody wants */
	volatile u16 length;    /* of the message, in bytes */
	volatile u16 size;      /* the longest answer that the client takes, in bytes */
	volatile u16 qtype;
	volatile u8 network_at; /* where the IP header stands in the frame */
	volatile u8 udp_at;     /* where the UDP header does */
	volatile u8 is_ipv6;
	volatile u8 has_opt;
	volatile u8 dnssec_ok;  /* as it goes into the answer's OPT: 0 or 0x80 */
	volatile u8 name_length;
	volatile u8 part_at;    /* where in it the name of an ancestor begins */
	volatile u8 part_length;
	u8 unused[2];
};

/* One a CPU: what is counted, and what is worked with. Mirrored by `Desk` in crates/sys. */
struct desk {
	struct counts counts;
	u64 words[NAME_WORDS];  /* the name last read, in lower case, filled up with 0 */
	struct query query;
	volatile struct records records; /* what was found */
};

struct bpf_map_def SEC("maps") DESK = {
	.type = BPF_MAP_TYPE_PERCPU_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct desk),
	.max_entries = 1,
};

#define UDP_HEADER 8
#define DNS_HEADER 12
#define QUESTION_FIXED 4
#define OPT_LENGTH 11
#define SMALLEST_SIZE 512
/* The counts of questions and answers as 32 bits: one question, no answer. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define COUNTS_OF_QUESTION 0x00000100
#else
#define COUNTS_OF_QUESTION 0x00010000
#endif
#define DNS_QR BE16(0x8000)
#define DNS_OPCODE BE16(0x7800)
#define DNS_AA BE16(0x0400)
#define DNS_TC BE16(0x0200)
#define DNS_COPIED BE16(0x0110) /* RD and CD */
#define NXDOMAIN 3
#define CLASS_IN 1
#define TYPE_OPT 41
#define TYPE_IXFR 251
#define TYPE_AXFR 252
#define TYPE_OTHER 0x20000      /* every type that has no slot of its own */
#define WILDCARD 0x10000        /* beside the type: of names that the wildcard below covers */

INLINE u32 fold(u64 sum)
{
	sum = (sum & 0xFFFFFFFF) + (sum >> 32);
	sum = (sum & 0xFFFFFFFF) + (sum >> 32);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (sum & 0xFFFF) + (sum >> 16);
}

/* The sum of bytes that begin on an odd one. */
INLINE u32 shifted(u32 sum)
{
	return (sum & 0xFF) << 8 | sum >> 8;
}

INLINE u64 in_lower_case(u64 word)
{
	u64 ones = 0x0101010101010101ULL;
	u64 low = word & 0x7F * ones;
	u64 from_a = low + (0x80 - 'A') * ones;
	u64 above_z = low + (0x7F - 'Z') * ones;

	/* Length octets are at most 63, below every letter. */
	return word | (~word & (from_a ^ above_z) & 0x80 * ones) >> 2;
}

INLINE u64 mixed(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
	return hash ^ hash >> 32;
}

/* The key of a name and a type; never 0. */
INLINE u64 key_of(u64 hash, u32 type)
{
	return mixed(hash, type) | 1;
}

/* The name of the question, as a new pointer. */
INLINE void *name_in(void *data, struct query *query)
{
	return data + query->udp_at + UDP_HEADER + DNS_HEADER;
}

/*
 * Reads the name of `length` bytes (1 to 255) at `name`, behind at least 8 other bytes: into the
 * desk in lower case, into its hash, and into the sum of its bytes as they are. 0: not whole.
 */
APART int read_name(void *name, u32 length, void *end, struct desk *desk, volatile u64 *its_sum)
{
	void *name_end = name + length;
	u64 hash = SETTINGS.seed ^ length;
	u64 sum = 0;

	/* Or 8 would be taken from the length first, and it might be negative then. */
	HIDE(name_end);
	if (name_end > end)
		return 0;
	for (u32 i = 0; i < NAME_WORDS; i++) {
		u64 word;

		if (i * 8 >= length)
			break;
		if (i * 8 + 8 <= length) {
			if (name + i * 8 + 8 > end)
				return 0;
			word = WORD64(name + i * 8);
		} else {
			word = LAST_BYTES(WORD64(name_end - 8), (length & 7));
		}
		sum += (word & 0xFFFFFFFF) + (word >> 32);
		word = in_lower_case(word);
		desk->words[i] = word;
		hash = mixed(hash, word);
	}
	desk->query.hash = hash;
	*its_sum = sum;
	return 1;
}

/* The slot with this key. */
APART struct slot *slot_of(u64 key)
{
	u32 at = key >> 32;

#pragma unroll
	for (u32 i = 0; i < PROBES; i++) {
		u32 index = (at + i) & SETTINGS.slot_mask;
		struct slot *slot = bpf_map_lookup_elem(&SLOTS, &index);

		if (!slot)
			return 0;
		if (likely(slot->key == key))
			return slot;
		if (!slot->key)
			return 0;
	}
	return 0;
}

/* Whether the slot is that of the name on the desk: two names may have one hash. */
APART int is_of_name(struct slot *slot, u32 length, struct desk *desk)
{
	u32 at = slot->name_at;

	if (slot->records.name_length != length)
		return 0;
	for (u32 c = 0; c < NAME_CHUNKS; c++) {
		u32 index = at + c;

		if (c * CHUNK_SIZE >= length)
			break;
		struct chunk *chunk = bpf_map_lookup_elem(&CHUNKS, &index);

		if (!chunk)
			return 0;
		for (u32 w = 0; w < CHUNK_WORDS; w++) {
			if (c * CHUNK_SIZE + w * 8 >= length)
				break;
			if (chunk->words[w] != desk->words[c * CHUNK_WORDS + w])
				return 0;
		}
	}
	return 1;
}

INLINE int say(struct desk *desk, struct slot *slot)
{
	volatile word64 *to = (void *)&desk->records;
	word64 *from = (void *)&slot->records;

	_Static_assert(sizeof(struct records) == 24, "three words");
	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
	return 1;
}

/* "There is no such name", with the SOA of the zone. */
INLINE int say_nxdomain(struct desk *desk)
{
	desk->records.kind = KIND_NEGATIVE;
	desk->records.rcode = NXDOMAIN;
	desk->records.length = SETTINGS.negative.length;
	return 1;
}

/* The slot of the ancestor whose name begins at part_at, if it exists. */
INLINE struct slot *ancestor(struct desk *desk, void *data, void *end)
{
	struct query *query = &desk->query;
	void *name = name_in(data, query) + query->part_at;

	if (!read_name(name, query->part_length, end, desk, &query->part_sum))
		return 0;
	struct slot *slot = slot_of(key_of(query->hash, TYPE_OTHER));

	return slot && is_of_name(slot, query->part_length, desk) ? slot : 0;
}

/*
 * What to say of a name without a slot, in a zone without wildcards: under the apex it does not
 * exist. 0 where it lies outside.
 */
INLINE int absent(struct desk *desk, void *data, void *end)
{
	void *name = name_in(data, &desk->query);
	u64 above = (u64)desk->query.name_length - SETTINGS.apex_length;
	u64 at = 0;

	if (above > MAX_NAME)
		return 0;
	for (u64 i = 0; i < LABELS_MAX; i++) {
		u8 *label = name + at;

		if (at >= above || (void *)(label + 1) > end)
			break;
		at += *label + 1;
		if (at > MAX_NAME)
			return 0;
	}
	if (at != above)
		return 0;
	desk->query.part_at = at;
	desk->query.part_length = SETTINGS.apex_length;
	return ancestor(desk, data, end) && say_nxdomain(desk);
}

/*
 * The same where there are wildcards (RFC 4592): the closest ancestor that exists decides. 0
 * where the name lies outside the zone or more than ENCLOSERS labels below that ancestor.
 */
INLINE int absent_or_wild(struct desk *desk, void *data, void *end)
{
	struct query *query = &desk->query;

	query->part_at = 0;
	for (u32 i = 0; i < ENCLOSERS; i++) {
		u8 *label = name_in(data, query) + query->part_at;

		if ((void *)(label + 1) > end)
			return 0;
		u32 at = query->part_at + *label + 1;

		if (at + SETTINGS.apex_length > query->name_length)
			return 0;
		query->part_at = at;
		query->part_length = query->name_length - at;
		struct slot *encloser = ancestor(desk, data, end);

		if (!encloser)
			continue;
		if (!(encloser->records.flags & HAS_WILDCARD))
			return say_nxdomain(desk);
		struct slot *wild = slot_of(key_of(query->hash, query->qtype | WILDCARD));

		if (!wild)
			wild = slot_of(key_of(query->hash, TYPE_OTHER | WILDCARD));
		return wild && say(desk, wild);
	}
	return 0;
}

/* Finds what to say to the question; 0 where the map does not know. */
INLINE int look_up(struct desk *desk, void *data, void *end)
{
	struct query *query = &desk->query;

	if (!read_name(name_in(data, query), query->name_length, end, desk, &query->name_sum))
		return 0;
	query->part_length = query->name_length;
	if (SETTINGS.any_name) {
		query->hash = SETTINGS.seed;
		query->part_length = 0;
	}
	struct slot *slot = slot_of(key_of(query->hash, query->qtype));

	if (!slot)
		slot = slot_of(key_of(query->hash, TYPE_OTHER));
	if (slot && is_of_name(slot, query->part_length, desk))
		return say(desk, slot);
	if (SETTINGS.any_name)
		return 0;
	return SETTINGS.has_wildcards ? absent_or_wild(desk, data, end) : absent(desk, data, end);
}

/* Copies what was found to `to`; 0 where it does not lie where it should. */
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
	/* What is left of a word is written with the bytes before it. */
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

/* Writes our OPT record and gives its sum, as if it began on an even byte. */
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

/* Sends the IP packet back where it came from; gives the sum of its pseudo-header. */
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

	/* No service, not to be cut, 64 hops; the ID stays. */
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

/* Turns the packet, which has its length already, into the answer. 0: it is spoilt. */
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
	/* From behind the name on, where bytes are even or odd with its length. */
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

/* Moves the first `length` bytes of the frame, which stand `gap` bytes behind its start, there. */
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
	/* Read before it may be written over. */
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
 * Makes the frame `more` bytes longer (or shorter) behind `head` bytes that stay: 1. 0: there is
 * no room, and nothing has changed; below 0: it is spoilt. Drivers keep little room behind a
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

/* Sends what was found, or nothing where it does not fit the client or the packet. */
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

/* Reads the OPT record; gives its length, 0 where it is none that we know. */
INLINE u32 read_opt(struct query *query, void *opt, void *end)
{
	if (opt + OPT_LENGTH > end)
		return 0;
	/* Owner and type, and the version: its own octet, behind the extended RCODE's. */
	if (*(u8 *)opt || WORD16(opt + 1) != BE16(TYPE_OPT) || *(u8 *)(opt + 6))
		return 0;
	u32 size = BE16(WORD16(opt + 3));

	query->size = size > SMALLEST_SIZE ? size : SMALLEST_SIZE;
	query->dnssec_ok = *(u8 *)(opt + 7) & 0x80;
	return OPT_LENGTH + BE16(WORD16(opt + 9));
}

/* The length of the name; 0 where it is none. */
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

/* Reads all of the message but what the name's bytes are; 0 where it is more than a plain question. */
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
 * Steps over the headers: gives the UDP header, 0 where the packet is not for us, or not whole in
 * one piece.
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
		/* IPv6 demands a checksum: the host knows what to do with packets without. */
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
	/* From here on all ways are one. */
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

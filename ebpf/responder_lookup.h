/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * From a name to what is said of it: the part of responder.bpf.c that reads the question's name and
 * the maps, and writes only to the desk.
 */
#ifndef DNSDYNO_RESPONDER_LOOKUP_H
#define DNSDYNO_RESPONDER_LOOKUP_H

#include "responder.h"

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

#endif

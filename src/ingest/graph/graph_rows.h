#pragma once

#include <cstdint>
#include <filesystem>

#include "ingest/graph/edge_list.h"
#include "ingest/graph/graph_scratch.h"
#include "ingest/graph/node_index.h"
#include "ingest/graph/node_table.h"
#include "store/graph.h"

namespace plimsoll {

/// Throws InputError if two rows of a table have the same ID, or HashCollision if two IDs have the same hash.
/// `row_of` maps IDs, or their hashes, to rows, u32.
void require_single_rows(const ExternalSort& row_of, const NodeTable& table, const IdRules& rules);

/// Writes x, y, the values to predict and the splits of a table whose row r belongs to node r.
/// Errors: those of NodeTable and GraphWriter.
void write_rows_in_order(const NodeTable& table, const GraphScratch& scratch, GraphWriter& writer);

/// Does the same for a table in another order. `row_of` maps IDs to indices of rows, u32; it is read and then
/// removed. Errors: also InputError (a node without a row, if rows have features). Throws UnknownId for a
/// row whose ID is not in the index.
void write_rows_sorted(const NodeTable& table, ExternalSort& row_of, const NodeIndex& index,
                       const GraphScratch& scratch, GraphWriter& writer);

/// Writes a split from a file of IDs: a text with one ID per line, or an array of IDs [n] or, if
/// rules.row_is_id, a mask [V] of bool. Errors: InputError with file and line or row, also for an ID that is
/// not a node; PaddedId; those of GraphWriter.
void write_split(size_t split, const std::filesystem::path& path, const IdRules& rules,
                 const NodeIndex& index, const GraphScratch& scratch, GraphWriter& writer);

/// Parses the ID in a field of a node table; returns the hash of a text ID. Errors: InputError with the
/// position of `at`; PaddedId if `rules` refuse IDs with leading zeros.
uint64_t node_id_of(std::string_view field, const IdRules& rules, const LineReader& at);

}  // namespace plimsoll

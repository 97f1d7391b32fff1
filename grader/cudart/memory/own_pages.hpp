// Blocks of malloc's with pages of their own (own_pages.cpp).
#pragma once

namespace scanlab::cudart {

/// From here on blocks that are not small have pages of their own.
void give_blocks_own_pages();
/// It is part of such a block: no other data lies in its pages.
bool has_own_pages(const void* memory);

}  // namespace scanlab::cudart

// The values of loads and stores: for observers, to which both are reported before they happen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "vgpu/core/run/observer.hpp"

namespace scanlab::vgpu {

/// What one lane loads or stores, Access::bytes of it: at most four elements of 8.
using LaneValue = std::array<std::byte, 32>;

/// The value that `lane` is about to store, from its registers; nothing where it is not known (an asynchronous copy).
std::optional<LaneValue> value_stored(const Access& store, unsigned lane);

/// The value that `lane` is about to load, from shared or global memory; nothing where it is not known.
std::optional<LaneValue> value_loaded(const Access& load, unsigned lane);

/// Does what `lane` stores differ from what shared or global memory holds now, in the `count` bytes from `from` on,
/// counted from its address? True also where that is not known.
bool changes_memory(const Access& store, unsigned lane, std::uint64_t from, std::uint64_t count);

/// The value that `lane` of a compare-and-swap expects to find; nothing where the atomic is none.
std::optional<LaneValue> value_expected(const Access& atomic, unsigned lane);

/// The word at `address`, a multiple of 4, that the access touches in shared or global memory, as it is now; 0 where it
/// is not known.
std::uint32_t word_now(const Access& access, std::uint64_t address);

/// The same of the lane's own local memory as well.
std::uint32_t word_now(const Access& access, unsigned lane, std::uint64_t address);

/// Does the atomic of this lane leave the word at `address`, one of those that it is about, as it is, whatever stands
/// there, or replace it as a whole? So do atomicAdd and atomicOr of 0, a compare-and-swap by what it compares with, and
/// atomicExch: they read and write, and do not look at what a word is.
bool leaves_word(const Access& atomic, unsigned lane, std::uint64_t address);
/// Does the atomic of this lane do to that word what a load does? So do those of leaves_word() with a result, other
/// than atomicExch.
bool only_loads(const Access& atomic, unsigned lane, std::uint64_t address);
/// Does the atomic make its value of the one that it finds, whatever that is, as atomicAdd and atomicMax do? So neither
/// atomicExch nor a compare-and-swap.
bool counts(const Access& atomic);
/// Is the same left by several of this atomic, whatever their order? So by all on integers but atomicExch, atomicInc,
/// atomicDec and a compare-and-swap, and not by sums of floats, which are rounded.
bool commutes(const Access& atomic);
/// Does the order matter in which lanes do this atomic at the same place? One changes it, and the other gets its
/// result, or they do not commute.
bool orders_lanes(const Access& atomic);
/// Is it atom.add.f32?
bool adds_floats(const Access& atomic);

/// The lanes that leave another value behind than they find, or may: an atomicAdd of 0, a compare-and-swap that fails,
/// a maximum that is there already only read.
Mask lanes_that_change(const Access& atomic);

/// Do the two lanes store different values? True also where that is not known.
bool stores_differ(const Access& store, unsigned lane, unsigned other);

}  // namespace scanlab::vgpu

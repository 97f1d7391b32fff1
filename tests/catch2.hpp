// Headers that nearly every test of C++ includes, compiled once a program. Units still include what they use.

#include <catch2/catch_test_macros.hpp>

#include "../grader/pch/std.hpp"

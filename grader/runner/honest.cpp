// A submission of the kit's own, whose answers can be trusted: it does nothing. Where a runner says on a GPU that it
// cannot open the judge's memory, this one is asked whether that is so.
#include "scanlab.cuh"

void inclusive_scan(const Element*, Element*, int) {}

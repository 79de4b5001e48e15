/* The header after one that defines macros of every kind of host; in C and in C++. */
#include "macros.h"

#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"

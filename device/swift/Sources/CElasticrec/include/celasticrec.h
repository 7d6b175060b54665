/* The declarations of the C runtime, for Swift. */
#ifndef CELASTICREC_H
#define CELASTICREC_H
#include "../../../../c/elasticrec.h"
#endif

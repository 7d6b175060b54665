/* The C runtime itself. */
#define ELASTICREC_IMPLEMENTATION
#include "celasticrec.h"

// SPDX-License-Identifier: MIT
/* Prints the command that a look runs on a NAS, for scripts that look at one themselves. */
#include <stdio.h>

#include "md/look.h"

int main(void)
{
	return puts(look_command()) == EOF ? 1 : 0;
}

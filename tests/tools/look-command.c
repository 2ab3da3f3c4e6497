// SPDX-License-Identifier: MIT
/* Prints the command of one look, for recordings and for a look by hand. `look-command forced`
 * prints the one for authorized_keys. */
#include <stdio.h>
#include <string.h>

#include "md/look.h"

int main(int argc, char **argv)
{
	bool forced = argc > 1 && strcmp(argv[1], "forced") == 0;

	return puts(forced ? look_forced_command() : look_command()) == EOF ? 1 : 0;
}

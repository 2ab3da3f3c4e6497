// SPDX-License-Identifier: MIT
/* A fuzz target without libFuzzer: gives it each file named, and each file in each folder named;
 * prints how many. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_MAX ((size_t)1 << 20)

static unsigned int n_files;

static int replay_file(const char *path)
{
	uint8_t *data = malloc(FILE_MAX);
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file || !data) {
		fprintf(stderr, "cannot read '%s'\n", path);
		if (file)
			fclose(file);
		free(data);
		return 1;
	}
	size = fread(data, 1, FILE_MAX, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	n_files++;
	return 0;
}

static int replay_folder(const char *path)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	int bad = 0;

	if (!dir)
		return 1;
	while ((entry = readdir(dir))) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		bad |= replay_file(name);
	}
	closedir(dir);
	return bad;
}

int main(int argc, char **argv)
{
	struct stat st;
	int i, bad = 0;

	for (i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			bad |= replay_folder(argv[i]);
		else
			bad |= replay_file(argv[i]);
	}
	printf("%u files replayed\n", n_files);
	return bad || !n_files;
}

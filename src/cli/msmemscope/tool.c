/* msmemscope-collector: the collector, and the commands on recordings. Started by the launcher only, always with a clean
 * environment. */
#include "collect/collect_main.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--collect") == 0) {
        return collect_main();
    }
    fprintf(stderr, "msmemscope-collector: started by msmemscope, not by hand.\n");
    return 2;
}

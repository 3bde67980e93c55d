/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion from the tables: commands, their options, and the words that options accept. */
#include "cli/dyno/cli.h"

#include <ctype.h>
#include <string.h>

static void print_names(const struct mon_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        printf(" --%s", options[i].name);
    }
}

/* Names of shell functions and variables cannot contain dashes. */
static void print_identifier(const char *name)
{
    for (const char *s = name; *s != '\0'; s++) {
        putchar(isalnum((unsigned char)*s) ? *s : '_');
    }
}

static bool is_file(const struct mon_option *option)
{
    return option->argument != NULL && (strcmp(option->argument, "DIR") == 0 || strcmp(option->argument, "FILE") == 0);
}

static void bash_values(const char *command, const struct mon_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (options[i].choices != NULL) {
            printf("    %s:--%s) words='", command, options[i].name);
            for (const char *s = options[i].choices; *s != '\0'; s++) {
                putchar(*s == '|' ? ' ' : *s);
            }
            puts("' ;;");
        } else if (is_file(&options[i])) {
            printf("    %s:--%s) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", command, options[i].name);
        } else if (options[i].argument != NULL) {
            printf("    %s:--%s) return ;;\n", command, options[i].name);
        }
    }
}

void dyno_print_bash(void)
{
    fputs(
        "# bash completion for dyno; usage: source <(dyno completion bash)\n"
        "_dyno() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' words='' word\n"
        "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
        "        case $word in\n        ",
        stdout);
    for (size_t i = 0; i < dyno_command_count; i++) {
        printf("%s | ", dyno_commands[i]->name);
    }
    fputs("completion | help) command=$word ;;\n        esac\n    done\n    case $command:$previous in\n", stdout);
    bash_values("*", dyno_globals, dyno_global_count);
    for (size_t i = 0; i < dyno_command_count; i++) {
        bash_values(dyno_commands[i]->name, dyno_options(dyno_commands[i]), dyno_option_count(dyno_commands[i]));
    }
    puts("    completion:completion) words='bash zsh' ;;\n    esac\n    if [ -z \"$words\" ]; then\n"
         "        case $command in");
    for (size_t i = 0; i < dyno_command_count; i++) {
        printf("        %s) words='", dyno_commands[i]->name);
        print_names(dyno_options(dyno_commands[i]), dyno_option_count(dyno_commands[i]));
        puts(" --help' ;;");
    }
    fputs("        '' | help) words='", stdout);
    for (size_t i = 0; i < dyno_command_count; i++) {
        printf("%s ", dyno_commands[i]->name);
    }
    fputs("completion help", stdout);
    print_names(dyno_globals, dyno_global_count);
    puts(" --help --version' ;;\n        esac\n    fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\ncomplete -F _dyno dyno");
}

/* Escapes text for a quoted description in _arguments. */
static void zsh_text(const char *text)
{
    for (const char *s = text; *s != '\0'; s++) {
        if (*s == '[' || *s == ']' || *s == ':') {
            putchar('\\');
        }
        if (*s == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*s);
        }
    }
}

static void zsh_options(const struct mon_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        printf("        '--%s%s[", options[i].name, options[i].argument != NULL ? "=" : "");
        zsh_text(options[i].help);
        putchar(']');
        if (options[i].argument != NULL) {
            printf(":%s:", options[i].argument);
            if (options[i].choices != NULL) {
                putchar('(');
                for (const char *s = options[i].choices; *s != '\0'; s++) {
                    putchar(*s == '|' ? ' ' : *s);
                }
                putchar(')');
            } else if (is_file(&options[i])) {
                fputs("_files", stdout);
            }
        }
        puts("' \\");
    }
}

void dyno_print_zsh(void)
{
    puts("#compdef dyno\n# zsh completion for dyno; usage: dyno completion zsh > a directory in fpath/_dyno");
    for (size_t i = 0; i < dyno_command_count; i++) {
        fputs("_dyno_", stdout);
        print_identifier(dyno_commands[i]->name);
        puts("() {\n    _arguments \\");
        zsh_options(dyno_options(dyno_commands[i]), dyno_option_count(dyno_commands[i]));
        puts("        '--help[show help]'\n}");
    }
    puts("_dyno() {\n    local -a commands\n    local state line\n    commands=(");
    for (size_t i = 0; i < dyno_command_count; i++) {
        printf("        '%s:", dyno_commands[i]->name);
        zsh_text(dyno_commands[i]->summary);
        puts("'");
    }
    puts("        'completion:print completion for a shell'\n        'help:show help'\n    )\n    _arguments -C \\");
    zsh_options(dyno_globals, dyno_global_count);
    puts("        '1: :->command' '*:: :->arguments'\n    case $state in\n"
         "    command) _describe command commands ;;\n    arguments)\n        case $line[1] in");
    for (size_t i = 0; i < dyno_command_count; i++) {
        printf("        %s) _dyno_", dyno_commands[i]->name);
        print_identifier(dyno_commands[i]->name);
        puts(" ;;");
    }
    puts("        completion) _values shell bash zsh ;;\n        esac ;;\n    esac\n}\n_dyno \"$@\"");
}

"""The reference of the command line, written by the commands themselves."""

import re

import click


def reference(group: click.Group) -> str:
    """One section of Markdown for each command: usage, what it does, examples, arguments and options."""
    with click.Context(group, info_name="ancr") as above:
        return "\n".join(_section(group.commands[name], above) for name in sorted(group.commands))


def _section(command: click.Command, above: click.Context) -> str:
    with click.Context(command, info_name=command.name, parent=above) as context:
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        records = [param.get_help_record(context) for param in command.params]
    rows = "".join(f"| {_options(names)} | {_escaped(text)} |\n" for names, text in filter(None, records) if text)
    return (
        f"## ancr {command.name}\n\n```\n{usage}\n```\n\n{_prose(command.help or '')}\n\n"
        f"| option | meaning |\n|---|---|\n{rows}"
    )


def _options(names: str) -> str:
    """``-o, --output FILE`` with each name in code."""
    return ", ".join(f"`{name.strip()}`" for name in names.split(", ")).replace("|", r"\|")


def _prose(text: str) -> str:
    """Paragraphs; those that click keeps line by line are a title and a block of code."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if not paragraph.lstrip().startswith("\b"):
            found.append(_escaped(" ".join(paragraph.split())))
            continue
        title, *lines = [line for line in paragraph.splitlines() if line.strip(" \b")]
        code = "\n".join(line.strip() for line in lines)
        found.append(f"{_escaped(title.strip())}\n\n```\n{code}\n```")
    return "\n\n".join(found)


def _escaped(text: str) -> str:
    """Text as it is, where Markdown would see marks; code between back quotes stays code."""
    parts = re.split(r"(`+[^`]+`+)", text)
    parts[1::2] = [part.replace("|", r"\|") for part in parts[1::2]]
    parts[::2] = [re.sub(r"([|*_<\[\]{}$])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)

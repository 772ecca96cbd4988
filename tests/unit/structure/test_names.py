"""One public class name has one meaning, and a module is named by what it holds."""

import ast
import re
from collections import defaultdict

import pytest

from tests.unit.structure.source import importers, modules

# Shapes of a wire keep the wire's own words, so the same word may be another shape elsewhere.
WIRE_SHAPES = re.compile(
    r"server\.v1\.\w+_shape|providers\.\w+\.(events|chunks|wire)|(channels|contrib)\.\w+\.wire"
    r"|message\.markup\.model|testing\..*"
)
# Public names of classes that stand twice outside of wire shapes, and why that does no harm.
TWICE: dict[str, str] = {}
# Nouns of the field that look like a verb's form.
NOUNS = {
    "audited": "actions that are audited: the word is what tells them from others",
    "pairing": "the name of the feature, and of its command",
    "pricing": "the noun",
    "pruning": "the name of the setting",
    "routing": "the noun, and the name of the setting",
    "sampling": "the noun of the field",
    "sharing": "the noun: who shares a conversation",
    "spending": "the noun, and the name of the setting",
    "testing": "the package's own noun",
    "text_drawing": "a drawing in text",
}
VERB_FORMS = re.compile(r"(ing|[^e]ed|told|heard|said|given|kept|shown|seen|written|spoken)$")
# Public classes that end in a verb's form and are none, or have another reason to be named so.
CLASS_NOUNS = {
    "Docstring": "the noun of the field",
    "Drawing": "the noun: a graph that is drawn",
    "Embedding": "the noun of the field",
    "Finding": "the noun",
    "GatewayGreeting": "the noun: what a gateway sends first",
    "GraphDrawing": "the noun: a graph that is drawn",
    "Lost": "its name is the value of the log field `then`",
    "ManifestSetting": "the noun",
    "OutboxTiming": "the noun: the numbers of the outbox",
    "PreviewTiming": "the noun: the numbers of the previews",
    "Pricing": "the noun",
    "Sampling": "the noun of the field",
    "SqlPairing": "the name of the feature, and of its command",
    "SqlPruning": "the name of the setting",
}
CLASS_VERB_FORMS = re.compile(
    r"(ing|[^e]ed|Told|Heard|Said|Given|Kept|Shown|Seen|Written|Spoken|Sent|Taken|Spent|Brought"
    r"|Begun|Lost|Learnt|Found|Held|Gone|Broken|Ran|Had|Wrote)$"
)
LEAST_LINES = 40
# Sets of modules of one form, where a small one is no accident: by their package.
UNIFORM = {
    "cli": "one module for each command",
    "pipeline.commands": "one module for each family of chat commands",
    "pipeline.stages": "one module for each stage",
    "server.v1": "each wire has the same files: the dialect, its input, its output, its shape",
    "channels": "each channel has the same files: format, inbound, outbound, settings, wire",
}


def test_a_public_class_name_has_one_meaning() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        if not WIRE_SHAPES.fullmatch(module.name):
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(module.name)
    twice = {name: where for name, where in found.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in TWICE} == {}
    assert TWICE.keys() <= twice.keys(), "an exception that is none any more"


def test_a_module_is_named_by_a_noun() -> None:
    odd = {one.name for one in modules() if VERB_FORMS.search(one.leaf) and one.leaf not in NOUNS}
    assert odd == set()


def test_a_public_class_is_named_by_a_noun() -> None:
    classes = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for module in modules()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and not WIRE_SHAPES.fullmatch(module.name)
    }
    # An exception may say what happened: `raise LeaseLost`.
    errors = {"Exception"}
    while more := {name for name, bases in classes.items() if errors & {*bases}} - errors:
        errors |= more
    odd = {name for name in classes.keys() - errors if name[0] != "_" and is_verb_form(name)}
    assert odd - CLASS_NOUNS.keys() == set()
    assert CLASS_NOUNS.keys() <= odd, "an exception that is none any more"


def is_verb_form(name: str) -> bool:
    """Tell whether the last word of a class name is a participle or a gerund."""
    return CLASS_VERB_FORMS.search(name) is not None


@pytest.mark.parametrize("name", ["Pacing", "Prepared", "VisionAsked", "Sent", "LatelySaid", "Ran"])
def test_verb_forms_of_classes_are_found(name: str) -> None:
    assert is_verb_form(name)


@pytest.mark.parametrize("name", ["settling", "told", "acting", "spoken", "overheard", "parked"])
def test_verb_forms_are_found(name: str) -> None:
    assert VERB_FORMS.search(name)


def test_a_small_module_with_one_importer_is_part_of_it() -> None:
    users = importers()
    alone = []
    for module in modules():
        is_uniform = any(
            module.package == package or module.package.startswith(f"{package}.")
            for package in (*UNIFORM, "testing")
        )
        used_by = users[module.name]
        if module.lines < LEAST_LINES and len(used_by) == 1 and not is_uniform:
            (user,) = used_by
            if user.rpartition(".")[0] == module.package or user == module.package:
                alone.append(f"{module.name} ({module.lines} lines) <- {user}")
    assert alone == []

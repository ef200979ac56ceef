"""All rules on one lesson."""

from __future__ import annotations

from . import rules_budget, rules_claims, rules_form, rules_parts, rules_prose

RULES = (
    *rules_form.RULES,
    *rules_parts.RULES,
    *rules_budget.RULES,
    *rules_prose.RULES,
    *rules_claims.RULES,
)

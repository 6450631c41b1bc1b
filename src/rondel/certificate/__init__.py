"""What is known of a graph before it runs: its certificate, its lints, and its drawing."""

from rondel.certificate.bounds import CONTRACT, DEFAULT, Bound
from rondel.certificate.certificate import Certificate, LoopCertificate, certify
from rondel.certificate.cost import Cost
from rondel.certificate.lint_context import Lint
from rondel.certificate.lints import lints_explaining, lints_of

__all__ = [
    "CONTRACT",
    "DEFAULT",
    "Bound",
    "Certificate",
    "Cost",
    "Lint",
    "LoopCertificate",
    "certify",
    "lints_explaining",
    "lints_of",
]

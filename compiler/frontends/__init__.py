"""Importers: one package a framework, each making a graph module."""

